-- +goose NO TRANSACTION
-- +goose Up
-- works with: 1
-- Why a plan does not go on until a person says so: epoch_hold of a notification that waited when a new epoch began. The index is made beside
-- those who write: each step may be repeated.
ALTER TABLE posthouse_plans ADD COLUMN IF NOT EXISTS held text COLLATE "C" NOT NULL DEFAULT '';
DROP INDEX CONCURRENTLY IF EXISTS posthouse_plans_held;
CREATE INDEX CONCURRENTLY posthouse_plans_held ON posthouse_plans (tenant, type, held, id) WHERE held <> '';

-- +goose Down
DROP INDEX CONCURRENTLY posthouse_plans_held;
ALTER TABLE posthouse_plans DROP COLUMN held;
