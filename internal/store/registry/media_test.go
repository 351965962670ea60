package registry

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/store/sqltest"
	"github.com/posthouse/posthouse/internal/work"
)

// A file that several hand in at once is there once, is its tenant's alone, and goes with all of its parts.
func TestFilesAreThereOnceAndGoWhole(t *testing.T) {
	sqltest.Each(t, func(t *testing.T, db *sqldb.DB) {
		s, now := Media{db}, time.Now()
		body := bytes.Repeat([]byte("0123456789"), mediaPart/5) // two parts
		file := func(tenant, sum string) work.Media {
			return work.Media{ID: posthouse.NewID(), Tenant: tenant, Name: "a", Type: "text/plain", Size: int64(len(body)), Sum: sum}
		}
		count := func(what string) int64 {
			t.Helper()
			n, _, err := sqldb.First(db.Reads(t.Context()), sqldb.Number, "SELECT COUNT(*) FROM "+what)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		var ids sync.Map
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				m, _, err := s.PutMedia(t.Context(), now, file("t1", "s1"), body, time.Hour, 0)
				if err != nil {
					t.Error(err)
				}
				ids.Store(m.ID, m)
			})
		}
		all.Wait()
		var one work.Media
		n := 0
		ids.Range(func(_, m any) bool { one, n = m.(work.Media), n+1; return true })
		if n != 1 || count("posthouse_media") != 1 || count("posthouse_media_parts") != 2 {
			t.Fatalf("%d ids, %d files and %d parts, want 1, 1 and 2", n, count("posthouse_media"), count("posthouse_media_parts"))
		}
		if _, got, err := s.MediaBody(t.Context(), now, "t1", one.ID); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes come back, %v", len(got), err)
		}
		if _, err := s.Media(t.Context(), now, "t2", one.ID); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("another tenant reads it: %v", err)
		}
		if err := s.DeleteMedia(t.Context(), now, "t2", one.ID); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("another tenant deletes it: %v", err)
		}
		if _, _, err := s.PutMedia(t.Context(), now, file("t1", "s2"), body, time.Hour, int64(len(body))*2-1); posthouse.CodeOf(err) != posthouse.CodeQuota {
			t.Errorf("a file for which there is no room: %v", err)
		}
		left := file("t1", "s3") // its process was killed
		err := db.Change(t.Context(), now, "leave a file behind", func(t *sqldb.Tx) error {
			return t.Insert(mediaTable, [][]any{{left.ID, "t1", "a", "text/plain", left.Size, "s3", int64(0), int64(1), int64(2)}})
		})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.PruneMedia(t.Context(), now, 10); err != nil || n != 1 || count("posthouse_media") != 1 {
			t.Errorf("%d were deleted, %v, and %d are left, want the one that was left behind gone", n, err, count("posthouse_media"))
		}
		if err := s.KeepMedia(t.Context(), now, "t1", one.ID, now.Add(48*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Media(t.Context(), now.Add(47*time.Hour), "t1", one.ID); err != nil || m.ID != one.ID {
			t.Errorf("it was to be kept: %v", err)
		}
		if err := s.DeleteMedia(t.Context(), now, "t1", one.ID); err != nil || count("posthouse_media")+count("posthouse_media_parts") != 0 {
			t.Errorf("%v, %d rows are left", err, count("posthouse_media")+count("posthouse_media_parts"))
		}
	})
}
