package sqldb

import "strings"

// Phrases are what the documents' views, whose text stands once for all databases, must say in each database's own words. An
// expression that goes in is SQL of the view.
type Phrases struct {
	// Greatest is the function of the greatest of its arguments.
	Greatest string
	// Time makes a time of microseconds, in UTC. PostgreSQL's alone has a zone: MariaDB's DATETIME has none, and SQLite's text is what
	// its functions of dates write, so that what reads such columns reads these.
	Time func(micros string) string
	// JSON is the text at a path (a.b) of a JSON text, and Value what stands there as JSON.
	JSON, Value func(json, path string) string
	// Object begins a JSON object of names and values, as a function.
	Object string
	// Document is a JSON text as the type that the database has for it.
	Document func(json string) string
	// Integer is a number from a text of digits, and Number the same from any text: null of what is none.
	Integer, Number func(text string) string
	// Word is an id as text that compares with other texts.
	Word func(id string) string
}

// asItIs leaves an expression as it is, where a database needs no word for it.
func asItIs(expression string) string { return expression }

var sqlitePhrases = Phrases{
	Greatest: "max",
	Time: func(micros string) string {
		return "strftime('%Y-%m-%d %H:%M:%f', " + micros + " / 1000000.0, 'unixepoch')"
	},
	JSON:     func(json, path string) string { return "json_extract(" + json + ", '$." + path + "')" },
	Value:    func(json, path string) string { return "json_extract(" + json + ", '$." + path + "')" },
	Object:   "json_object",
	Document: asItIs,
	Integer:  func(text string) string { return "CAST(" + text + " AS INTEGER)" },
	Number: func(text string) string {
		return strings.ReplaceAll("CASE WHEN ? <> '' AND ? NOT GLOB '*[^0-9]*' AND (length(?) < 19 OR (length(?) = 19 AND ? <= '9223372036854775807')) THEN CAST(? AS INTEGER) END", "?", text)
	},
	Word: asItIs,
}

var postgresPhrases = Phrases{
	Greatest: "GREATEST",
	Time:     func(micros string) string { return "to_timestamp(" + micros + " / 1000000.0)" },
	JSON: func(json, path string) string {
		return "(" + json + "::json #>> '{" + strings.ReplaceAll(path, ".", ",") + "}')"
	},
	Value: func(json, path string) string {
		return "(" + json + "::json #> '{" + strings.ReplaceAll(path, ".", ",") + "}')::text"
	},
	Object:   "jsonb_build_object",
	Document: func(json string) string { return json + "::jsonb" },
	Integer:  func(text string) string { return "CAST(" + text + " AS INTEGER)" },
	Number: func(text string) string {
		return strings.ReplaceAll("CASE WHEN ? ~ '^[0-9]{1,18}$' OR (? ~ '^[0-9]{19}$' AND ? <= '9223372036854775807') THEN ?::bigint END", "?", text)
	},
	Word: asItIs,
}

var mysqlPhrases = Phrases{
	Greatest: "GREATEST",
	Time: func(micros string) string {
		return "TIMESTAMPADD(MICROSECOND, " + micros + ", TIMESTAMP '1970-01-01 00:00:00')"
	},
	JSON:     func(json, path string) string { return "JSON_UNQUOTE(JSON_EXTRACT(" + json + ", '$." + path + "'))" },
	Value:    func(json, path string) string { return "JSON_EXTRACT(" + json + ", '$." + path + "')" },
	Object:   "JSON_OBJECT",
	Document: asItIs,
	Integer:  func(text string) string { return "CAST(" + text + " AS SIGNED)" },
	Number: func(text string) string {
		return strings.ReplaceAll("CASE WHEN ? REGEXP '^[0-9]{1,18}$' OR (? REGEXP '^[0-9]{19}$' AND ? <= '9223372036854775807') THEN CAST(? AS SIGNED) END", "?", text)
	},
	Word: func(id string) string { return "CONVERT(" + id + " USING utf8mb4) COLLATE utf8mb4_bin" },
}
