-- +goose Up
-- works with: 1
-- Why a plan does not go on until a person says so: epoch_hold of a notification that waited when a new epoch began.
ALTER TABLE posthouse_plans ADD COLUMN held varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';
ALTER TABLE posthouse_plans ADD KEY posthouse_plans_held (tenant, type, held, id);

-- +goose Down
ALTER TABLE posthouse_plans DROP KEY posthouse_plans_held;
ALTER TABLE posthouse_plans DROP COLUMN held;
