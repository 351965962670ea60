-- +goose Up
-- works with: 1
-- Why a plan does not go on until a person says so: epoch_hold of a notification that waited when a new epoch began.
ALTER TABLE posthouse_plans ADD COLUMN held TEXT NOT NULL DEFAULT '';
CREATE INDEX posthouse_plans_held ON posthouse_plans (tenant, type, held, id) WHERE held <> '';

-- +goose Down
DROP INDEX posthouse_plans_held;
ALTER TABLE posthouse_plans DROP COLUMN held;
