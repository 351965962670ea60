-- +goose Up
-- works with: 1
-- The deliveries of notifications to telephones, by the number: who answers by text message names none of them.
CREATE TABLE posthouse_answerable (
  tenant varchar(128) NOT NULL,
  channel varchar(128) NOT NULL,
  address varchar(64) NOT NULL,
  delivery varchar(64) NOT NULL,
  until_at bigint NOT NULL,
  PRIMARY KEY (tenant, channel, address, delivery),
  KEY posthouse_answerable_until (until_at)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='posthouse';

-- +goose Down
DROP TABLE posthouse_answerable;
