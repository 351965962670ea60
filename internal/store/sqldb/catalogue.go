package sqldb

import (
	"context"
	"strings"
)

// Part is one piece of the schema as the database's own catalogue has it. Definition is in the database's words and holds what a
// statement can depend on, but nothing that differs between versions of one database.
type Part struct {
	Kind       string // "table", "view", "column", "key", "index" or "trigger"
	Of         string // the table or view it belongs to; empty for these themselves
	Name       string // empty for a primary key
	Definition string
}

// Catalogue lists the parts of everything whose name begins as ours do. Partitions are told by their parents. Every user of the
// tables may read it.
func (s *DB) Catalogue(ctx context.Context) ([]Part, error) {
	list, err := All(s.Reads(ctx), func(scan Scanner) (p Part, err error) {
		err = scan(&p.Kind, &p.Of, &p.Name, &p.Definition)
		p.Definition = strings.Join(strings.Fields(p.Definition), " ")
		return p, err
	}, s.Dialect.Catalogue)
	return list, s.Coded(err, "read the database's catalogue")
}

// sqliteCatalogue is that of SQLite, which keeps the text of a view as it was given. An index without a text of its own stands for a
// UNIQUE within its table.
const sqliteCatalogue = `WITH rel AS (SELECT name, type, sql FROM sqlite_master
	WHERE type IN ('table', 'view') AND name LIKE 'posthouse@_%' ESCAPE '@' AND name <> '` + VersionTable + `')
SELECT type, '', name, CASE WHEN type = 'view' THEN sql WHEN (SELECT wr FROM pragma_table_list(rel.name)) THEN 'without rowid' ELSE '' END FROM rel
UNION ALL
SELECT 'column', rel.name, c.name, lower(c.type) || CASE WHEN c."notnull" THEN ' not null' ELSE '' END || CASE WHEN c.dflt_value IS NOT NULL THEN ' default' ELSE '' END
	FROM rel, pragma_table_xinfo(rel.name) c WHERE rel.type = 'table'
UNION ALL
SELECT 'key', name, '', '(' || group_concat(c, ', ') || ')' FROM (SELECT rel.name, c.name AS c FROM rel, pragma_table_info(rel.name) c
	WHERE rel.type = 'table' AND c.pk > 0 ORDER BY rel.name, c.pk) GROUP BY name
UNION ALL
SELECT 'index', t, CASE WHEN origin = 'c' THEN i ELSE 'of ' || group_concat(c, ', ') END,
		CASE WHEN u THEN 'unique ' ELSE '' END || '(' || group_concat(c, ', ') || ')' || CASE WHEN partial THEN (SELECT substr(sql, instr(sql, ' WHERE ')) FROM sqlite_master WHERE name = i) ELSE '' END
	FROM (SELECT rel.name AS t, i.name AS i, i."unique" AS u, i.origin, i.partial, c.name || CASE WHEN c.desc THEN ' DESC' ELSE '' END AS c
		FROM rel, pragma_index_list(rel.name) i, pragma_index_xinfo(i.name) c WHERE rel.type = 'table' AND i.origin <> 'pk' AND c.key ORDER BY 1, 2, c.seqno) GROUP BY t, i
UNION ALL
SELECT 'trigger', tbl_name, name, '' FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN (SELECT name FROM rel)`

// postgresCatalogue is that of PostgreSQL. An index that a build has left invalid, or that some partition lacks, is told apart.
const postgresCatalogue = `WITH rel AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = current_schema()::regnamespace
	AND relname LIKE 'posthouse\_%' AND relkind IN ('r', 'p', 'v') AND NOT relispartition AND relname <> '` + VersionTable + `')
SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END, '', relname::text, COALESCE((SELECT 'partitioned by ' || pg_get_partkeydef(oid) ||
		CASE WHEN p.partdefid = 0 THEN '' ELSE ' with a partition for the rest' END FROM pg_partitioned_table p WHERE p.partrelid = oid), '') FROM rel
UNION ALL
SELECT 'column', relname, attname, format_type(atttypid, atttypmod) || COALESCE(' collate ' || collname, '') || CASE WHEN attnotnull THEN ' not null' ELSE '' END ||
		CASE WHEN attidentity <> '' THEN ' identity' WHEN atthasdef THEN ' default' ELSE '' END
	FROM rel JOIN pg_attribute ON attrelid = rel.oid AND attnum > 0 AND NOT attisdropped LEFT JOIN pg_collation co ON co.oid = attcollation AND collname <> 'default'
UNION ALL
SELECT CASE WHEN indisprimary THEN 'key' ELSE 'index' END, rel.relname, CASE WHEN indisprimary THEN '' ELSE i.relname END,
		CASE WHEN indisunique AND NOT indisprimary THEN 'unique ' ELSE '' END || regexp_replace(pg_get_indexdef(i.oid), '^.* USING ', '') ||
		CASE WHEN indisvalid AND indisready THEN '' ELSE ' but invalid' END
	FROM rel JOIN pg_index ON indrelid = rel.oid JOIN pg_class i ON i.oid = indexrelid
UNION ALL
SELECT 'trigger', relname, tgname, '' FROM rel JOIN pg_trigger ON tgrelid = rel.oid AND NOT tgisinternal`

// mysqlCatalogue is that of MySQL and MariaDB. What a dump has in the place of a view until its end has numbers for all columns.
const mysqlCatalogue = `SELECT CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END, '', table_name, CONCAT(COALESCE(engine, ''), CASE WHEN table_name IN
			(SELECT table_name FROM information_schema.partitions WHERE table_schema = DATABASE() AND partition_name = 'rest') THEN ' partitioned' ELSE '' END)
	FROM information_schema.tables WHERE table_schema = DATABASE() AND ` + mysqlOurs + `
UNION ALL
SELECT 'column', c.table_name, c.column_name, CASE t.table_type WHEN 'VIEW' THEN CASE WHEN c.character_maximum_length IS NULL THEN 'number' ELSE 'text' END ELSE CONCAT(c.data_type,
		CASE WHEN c.data_type IN ('varchar', 'varbinary') THEN CONCAT('(', c.character_maximum_length, ')') ELSE '' END, COALESCE(CONCAT(' collate ', c.collation_name), ''),
		CASE c.is_nullable WHEN 'NO' THEN ' not null' ELSE '' END, CASE WHEN COALESCE(c.column_default, 'NULL') = 'NULL' THEN '' ELSE ' default' END,
		CASE WHEN c.extra LIKE '%auto_increment%' THEN ' auto_increment' ELSE '' END) END
	FROM information_schema.columns c JOIN (SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE() AND ` + mysqlOurs + `) t
		ON t.table_name = c.table_name WHERE c.table_schema = DATABASE()
UNION ALL
SELECT CASE index_name WHEN 'PRIMARY' THEN 'key' ELSE 'index' END, table_name, CASE index_name WHEN 'PRIMARY' THEN '' ELSE index_name END,
		CONCAT(CASE WHEN MAX(non_unique) = 0 AND index_name <> 'PRIMARY' THEN 'unique ' ELSE '' END, '(', GROUP_CONCAT(column_name, COALESCE(CONCAT('(', sub_part, ')'), '') ORDER BY seq_in_index SEPARATOR ', '), ')')
	FROM information_schema.statistics WHERE table_schema = DATABASE() AND ` + mysqlOurs + ` GROUP BY table_name, index_name
UNION ALL
SELECT 'trigger', event_object_table, trigger_name, '' FROM information_schema.triggers WHERE event_object_schema = DATABASE() AND event_object_table LIKE 'posthouse@_%' ESCAPE '@'`

// mysqlOurs is met by our tables and views, but for what changes places with a partition.
const mysqlOurs = `table_name LIKE 'posthouse@_%' ESCAPE '@' AND table_name NOT LIKE '%@_leaving' ESCAPE '@' AND table_name <> '` + VersionTable + `'`
