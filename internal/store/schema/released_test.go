package schema_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// unlike names the migrations that are not as the sums say, and where all is to be released, those without one.
func unlike(files fs.FS, sums string, all bool) (wrong []string, lines string, err error) {
	known := map[string]string{}
	for line := range strings.Lines(sums) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && sum != "#" {
			known[name] = sum
		}
	}
	found, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return nil, "", err
	}
	for _, name := range found {
		if dialect := path.Dir(name); dialect != "sqlite" && dialect != "postgres" && dialect != "mysql" {
			continue // the views are made anew
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, "", err
		}
		sum := sha256.Sum256(text)
		got := hex.EncodeToString(sum[:])
		if want, released := known[name]; released && want != got {
			wrong = append(wrong, name+" was changed after its release: write a migration more")
		} else if !released && all {
			wrong = append(wrong, name+" is not in released.txt, and VERSION is a release: -update adds it")
			lines += fmt.Sprintf("%s %s\n", got, name)
		}
		delete(known, name)
	}
	for name := range known {
		wrong = append(wrong, name+" was released, and is not there any more")
	}
	slices.Sort(wrong)
	return wrong, lines, nil
}

// What was released stays as it is; the number of a release in VERSION asks for the sums of all.
func TestAReleasedMigrationStaysAsItIs(t *testing.T) {
	t.Parallel()
	version, err := os.ReadFile("../../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("released.txt")
	if err != nil {
		t.Fatal(err)
	}
	wrong, lines, err := unlike(os.DirFS("."), string(sums), !strings.Contains(string(version), "-"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("released.txt", []byte(string(sums)+lines), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, one := range wrong {
		t.Error(one)
	}
}

func TestAChangedReleaseIsFound(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"sqlite/0001_first.sql": {Data: []byte("one")}, "sqlite/0002_more.sql": {Data: []byte("two")}, "views/01_x.sql": {Data: []byte("view")}}
	_, all, err := unlike(files, "# a remark\n", true)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(f fstest.MapFS)
		all    bool
		want   []string
	}{
		"as it was":   {func(fstest.MapFS) {}, true, nil},
		"changed":     {func(f fstest.MapFS) { f["sqlite/0001_first.sql"] = &fstest.MapFile{Data: []byte("other")} }, false, []string{"sqlite/0001_first.sql was changed after its release: write a migration more"}},
		"gone":        {func(f fstest.MapFS) { delete(f, "sqlite/0001_first.sql") }, false, []string{"sqlite/0001_first.sql was released, and is not there any more"}},
		"one more":    {func(f fstest.MapFS) { f["mysql/0003_new.sql"] = &fstest.MapFile{} }, false, nil},
		"not written": {func(f fstest.MapFS) { f["mysql/0003_new.sql"] = &fstest.MapFile{} }, true, []string{"mysql/0003_new.sql is not in released.txt, and VERSION is a release: -update adds it"}},
	} {
		changed := fstest.MapFS{}
		for name, file := range files {
			changed[name] = file
		}
		c.change(changed)
		wrong, _, err := unlike(changed, all, c.all)
		if diff := cmp.Diff(c.want, wrong); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
