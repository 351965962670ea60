package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/work"
)

// Of processes that start together on an empty database, one makes the first key. A revoked key is none.
func TestTheFirstKeyIsMadeOnce(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		revoked := posthouse.Key{ID: "k0", Tenant: "t1", Scope: posthouse.ScopeAdmin}
		if err := errors.Join(s.Keys.AddKey(ctx, at(), revoked, "hash"), s.Keys.RevokeKey(ctx, at(), "t1", "k0")); err != nil {
			t.Fatal(err)
		}
		var made atomic.Int64
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				added, err := s.Keys.AddFirstKey(ctx, at(), posthouse.Key{ID: fmt.Sprint("k", i+1), Tenant: "t1", Scope: posthouse.ScopeAdmin}, "hash")
				if err != nil {
					t.Error(err)
				}
				if added {
					made.Add(1)
				}
			})
		}
		all.Wait()
		keys, _, err := s.Keys.Keys(ctx, "t1", "", 0)
		if err != nil || len(keys) != 2 || made.Load() != 1 {
			t.Errorf("%d said that they made one; there are %+v, %v", made.Load(), keys, err)
		}
	})
}

func TestTheKeyringsMarkIsDecidedByOneAfterTheOther(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		if mark, err := s.Keys.KeyringMark(ctx); mark != "" || err != nil {
			t.Errorf("an empty database has the mark %q, %v", mark, err)
		}
		var all sync.WaitGroup
		var first atomic.Int64
		for i := range 6 {
			all.Go(func() {
				if err := s.Keys.MarkKeyring(ctx, at(), func(mark string) (string, error) {
					if mark != "" {
						return mark, nil
					}
					return fmt.Sprint("mark ", i), nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		mark, err := s.Keys.KeyringMark(ctx)
		if err != nil || mark == "" {
			t.Fatalf("the mark is %q, %v", mark, err)
		}
		stranger := errors.New("a stranger")
		if err := s.Keys.MarkKeyring(ctx, at(), func(string) (string, error) { return "another", stranger }); !errors.Is(err, stranger) {
			t.Errorf("got %v, want the stranger's error", err)
		}
		if now, _ := s.Keys.KeyringMark(ctx); now != mark {
			t.Errorf("a refusal changed the mark from %q to %q", mark, now)
		}
		if err := s.Keys.MarkKeyring(ctx, at(), func(string) (string, error) { first.Add(1); return "newer", nil }); err != nil || first.Load() == 0 {
			t.Error(err)
		}
		if now, _ := s.Keys.KeyringMark(ctx); now != "newer" {
			t.Errorf("the mark is %q, want newer", now)
		}
	})
}

func TestContentsOfAnOldKeyAreFoundAndReplaced(t *testing.T) {
	eachDB(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		m1, m2, m3 := posthouse.NewID(), posthouse.NewID(), posthouse.NewID()
		err := s.Queue.change(ctx, at(), "seal", func(x *tx) error {
			return x.Insert(sealedTable, [][]any{
				sealedValues(&work.Sealed{Message: m1, Tenant: "t1", Body: "enc:v1:old:a", ForgetAt: at()}),
				sealedValues(&work.Sealed{Message: m2, Tenant: "t1", Body: "enc:v1:new:b", ForgetAt: at()}),
				sealedValues(&work.Sealed{Message: m3, Tenant: "t2", Body: "enc:v1:old:c", ForgetAt: at()}),
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Contents.SealedOtherwise(ctx, "enc:v1:new:", "", 1)
		if err != nil || len(list) != 1 || list[0].Message != m1 || list[0].Tenant != "t1" || list[0].Body != "enc:v1:old:a" {
			t.Fatalf("got %+v, %v", list, err)
		}
		stale := list[0]
		stale.Body = "enc:v1:old:x"
		if err := errors.Join(s.Contents.Reseal(ctx, at(), stale, "lost"), s.Contents.Reseal(ctx, at(), list[0], "enc:v1:new:a")); err != nil {
			t.Fatal(err)
		}
		bodies, err := s.Contents.Sealed(ctx, "t1", []string{m1, m2})
		if err != nil || bodies[m1] != "enc:v1:new:a" || bodies[m2] != "enc:v1:new:b" {
			t.Errorf("got %v, %v", bodies, err)
		}
		if list, err = s.Contents.SealedOtherwise(ctx, "enc:v1:new:", m1, 10); err != nil || len(list) != 1 || list[0].Message != m3 {
			t.Errorf("then got %+v, %v", list, err)
		}
		starts, err := s.Contents.SealedStarts(ctx)
		if err != nil || len(starts) != 3 {
			t.Errorf("the starts are %v, %v", starts, err)
		}
	})
}
