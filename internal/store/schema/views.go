package schema

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"text/template"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// The documents' views show what is stored under the names that the source systems gave their tables
// (message_send_log, tc_notify_job, sms_tasks …). They are for readers of the database; Posthouse itself reads none.
// They are made where their names are free, and may stand in another schema or be left out.

//go:embed views
var viewTexts embed.FS

// ViewsNone leaves the documents' views out.
const ViewsNone = "none"

// viewsPlace is the name in posthouse_meta of where the views stand: "" beside our tables, ViewsNone, or a schema.
const viewsPlace = "views"

// DocumentView is one of the documents' views as the database has it. Problem says why it is missing, "" where it stands.
type DocumentView struct {
	Name    string `json:"name"`
	Schema  string `json:"schema,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// documentView is a view as this binary makes it.
type documentView struct{ name, text string }

// viewsOf are the documents' views in the order of their making.
func viewsOf(d *sqldb.Dialect) ([]documentView, error) {
	parsed, err := template.New("").Funcs(phrasesOf(d)).ParseFS(viewTexts, "views/*.sql")
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(viewTexts, "views/*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]documentView, len(files))
	for i, file := range files {
		var text strings.Builder
		if err := parsed.ExecuteTemplate(&text, path.Base(file), nil); err != nil {
			return nil, err
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
		list[i] = documentView{name, text.String()}
	}
	return list, nil
}

// print is what posthouse_meta keeps of a view that we made, so that a new text replaces it and a stranger is not taken for it.
func (v documentView) print() string {
	sum := sha256.Sum256([]byte(v.text))
	return hex.EncodeToString(sum[:8])
}

// PlaceViews says where the documents' views stand, moves them there, and returns each as it is afterwards. A schema must be
// there already, and SQLite has none.
func (s Schema) PlaceViews(ctx context.Context, place string) ([]DocumentView, error) {
	if place != "" && place != ViewsNone && !s.db.Dialect.Schemas {
		return nil, posthouse.Errorf(posthouse.CodeInvalid, "the database has no schemas: the views stand beside the tables or are left out (none)")
	}
	if strings.ContainsAny(place, "\"`;.\x00") {
		return nil, posthouse.Errorf(posthouse.CodeInvalid, "schema %q is not a plain name", place)
	}
	err := s.db.Alone(ctx, func(db *sql.DB) error {
		if had, err := s.metaOf(ctx, db, viewsPlace); err != nil {
			return err
		} else if had != place {
			if err := s.dropViews(ctx, db); err != nil {
				return err
			}
		}
		if err := s.setMeta(ctx, db, viewsPlace, place); err != nil {
			return err
		}
		return s.makeViews(ctx, db)
	})
	if err != nil {
		return nil, err
	}
	return s.DocumentViews(ctx)
}

// DocumentViews lists the documents' views and what keeps any from being there.
func (s Schema) DocumentViews(ctx context.Context) ([]DocumentView, error) {
	place, err := s.metaOf(ctx, s.db.Reader, viewsPlace)
	if err != nil || place == ViewsNone {
		return nil, err
	}
	views, err := viewsOf(s.db.Dialect)
	if err != nil {
		return nil, err
	}
	list := make([]DocumentView, len(views))
	for i, v := range views {
		list[i] = DocumentView{Name: v.name, Schema: place}
		made, err := s.metaOf(ctx, s.db.Reader, metaName(place, v.name))
		if err != nil {
			return nil, err
		}
		stands, _, err := s.viewStands(ctx, s.db.Reader, place, v.name)
		switch {
		case err != nil:
			return nil, err
		case stands && made == v.print():
		case stands && made != "":
			list[i].Problem = "is of an older version: posthouse migrate makes it anew"
		case made == "":
			list[i].Problem = "somebody else's table or view has the name, or the database's user may not make views: rename it or grant CREATE VIEW and run posthouse migrate, or place the views with posthouse migrate views --schema"
		default:
			list[i].Problem = "was removed: posthouse migrate makes it again"
		}
	}
	return list, nil
}

func metaName(place, view string) string { return "view." + place + "." + view }

// makeViews makes what is missing and can be made. What cannot be made is logged, and DocumentViews lists it: the work
// goes on without it.
func (s Schema) makeViews(ctx context.Context, db *sql.DB) error {
	place, err := s.metaOf(ctx, db, viewsPlace)
	if err != nil || place == ViewsNone {
		return err
	}
	views, err := viewsOf(s.db.Dialect)
	if err != nil {
		return err
	}
	for _, v := range views {
		if err := s.makeView(ctx, db, place, v); err != nil {
			s.db.Log.Warn("a view of the source documents cannot be made; posthouse doctor lists what is missing", "view", v.name, "error", err)
		}
	}
	return nil
}

// makeView makes one view where its name is free, and anew where its text has changed. posthouse_meta notes it first: a process that is
// killed between the two leaves a note of a view that is not there.
func (s Schema) makeView(ctx context.Context, db *sql.DB, place string, v documentView) error {
	note := metaName(place, v.name)
	made, err := s.metaOf(ctx, db, note)
	if err != nil {
		return err
	}
	stands, ours, err := s.viewStands(ctx, db, place, v.name)
	if err != nil || stands && ours && made == v.print() {
		return err
	}
	taken := stands && (!ours || made == "")
	if !taken && stands {
		if _, err := db.ExecContext(ctx, "DROP VIEW "+viewName(place, v.name)); err != nil {
			return err
		}
	}
	if !taken {
		if err := s.setMeta(ctx, db, note, v.print()); err != nil {
			return err
		}
		_, err = db.ExecContext(ctx, "CREATE VIEW "+viewName(place, v.name)+" AS\n"+v.text)
	} else {
		err = errors.New("the name is taken by somebody else's table or view")
	}
	if err != nil {
		_, undo := db.ExecContext(ctx, s.db.Text("DELETE FROM posthouse_meta WHERE name = ?"), note)
		return errors.Join(err, undo)
	}
	return nil
}

func viewName(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// viewStands reports whether anything has a view's name, and whether it may be ours: ours read our tables.
func (s Schema) viewStands(ctx context.Context, db *sql.DB, place, name string) (stands, ours bool, err error) {
	var text string
	err = db.QueryRowContext(ctx, s.db.Text(s.db.Dialect.ViewText), place, name).Scan(&text)
	switch {
	case err == nil:
		return true, strings.Contains(text, "posthouse_"), nil
	case !errors.Is(err, sql.ErrNoRows):
		return false, false, fmt.Errorf("look for the view %s: %w", name, err)
	case place != "":
		return false, false, nil // CREATE VIEW finds a table of the name
	}
	there, err := s.Objects(ctx, db)
	return slices.ContainsFunc(there, func(o sqldb.Object) bool { return o.Name == name }), false, err
}

// dropViews removes the documents' views that we made.
func (s Schema) dropViews(ctx context.Context, db *sql.DB) error {
	place, err := s.metaOf(ctx, db, viewsPlace)
	if err != nil || place == ViewsNone {
		return err
	}
	views, err := viewsOf(s.db.Dialect)
	if err != nil {
		return err
	}
	slices.Reverse(views)
	for _, v := range views {
		note := metaName(place, v.name)
		made, err := s.metaOf(ctx, db, note)
		if err != nil {
			return err
		}
		if made == "" {
			continue
		}
		if stands, ours, err := s.viewStands(ctx, db, place, v.name); err != nil {
			return err
		} else if stands && ours {
			if _, err := db.ExecContext(ctx, "DROP VIEW "+viewName(place, v.name)); err != nil {
				return err
			}
		}
		if _, err := db.ExecContext(ctx, s.db.Text("DELETE FROM posthouse_meta WHERE name = ?"), note); err != nil {
			return err
		}
	}
	return nil
}

// metaOf reads what posthouse_meta has of a name, "" for nothing.
func (s Schema) metaOf(ctx context.Context, db *sql.DB, name string) (value string, err error) {
	err = db.QueryRowContext(ctx, s.db.Text("SELECT value FROM posthouse_meta WHERE name = ?"), name).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, err
}

func (s Schema) setMeta(ctx context.Context, db *sql.DB, name, value string) error {
	upsert := s.db.Dialect.Upsert("posthouse_meta", []string{"name"}, []string{"value"}, false)
	_, err := db.ExecContext(ctx, s.db.Text("INSERT INTO posthouse_meta (name, value) VALUES (?, ?)"+upsert), name, value)
	return err
}
