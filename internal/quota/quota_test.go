package quota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/quota"
	"github.com/posthouse/posthouse/internal/work"
)

// fakeStore is a database in which so much is open.
type fakeStore struct {
	quotas map[string]posthouse.Quota
	open   atomic.Int64
	counts atomic.Int64 // how often somebody counted
	err    error
}

func (s *fakeStore) TenantQuotas(context.Context) (map[string]posthouse.Quota, error) {
	return s.quotas, nil
}

func (s *fakeStore) OpenOfTenant(context.Context, string) (int, error) {
	s.counts.Add(1)
	return int(s.open.Load()), s.err
}

func (s *fakeStore) OpenOfKey(context.Context, time.Time, string, string) (int, error) {
	return s.OpenOfTenant(context.Background(), "")
}

// known makes quotas that know those of a store.
func known(t *testing.T, s *fakeStore) *quota.Quotas {
	t.Helper()
	q := quota.New(quota.Options{Store: s})
	if err := q.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

func boundOf(t *testing.T, err error) posthouse.Bound {
	t.Helper()
	var coded *posthouse.Error
	if !errors.As(err, &coded) || coded.Code != posthouse.CodeQuota || coded.Bound == nil || coded.Wait <= 0 {
		t.Fatalf("got %v, want a quota that is used up, with its bound and a wait", err)
	}
	return *coded.Bound
}

func windows(n int, per time.Duration) []posthouse.Limit {
	return []posthouse.Limit{{Max: n, Per: posthouse.Duration(per)}}
}

func TestRequestsOfKeyAndTenantAreCountedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := known(t, &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Requests: windows(3, time.Second)}}})
		one := posthouse.Key{ID: "k1", Tenant: "bank", Quota: posthouse.Quota{Requests: windows(2, time.Second)}}
		other := posthouse.Key{ID: "k2", Tenant: "bank"}
		for range 2 {
			if err := q.Request(t.Context(), one); err != nil {
				t.Fatal(err)
			}
		}
		if b := boundOf(t, q.Request(t.Context(), one)); b != (posthouse.Bound{Of: "key", Name: "k1", What: "requests", Max: 2, Per: posthouse.Duration(time.Second)}) {
			t.Errorf("the key's bound is %+v", b)
		}
		if err := q.Request(t.Context(), other); err != nil {
			t.Errorf("what was refused counts: %v", err)
		}
		if b := boundOf(t, q.Request(t.Context(), other)); b.Of != "tenant" || b.Name != "bank" || b.Max != 3 {
			t.Errorf("the tenant's bound is %+v", b)
		}
		if err := q.Request(t.Context(), posthouse.Key{ID: "k3", Tenant: "another"}); err != nil {
			t.Errorf("a tenant without a quota: %v", err)
		}
		time.Sleep(time.Second + time.Millisecond)
		if err := q.Request(t.Context(), one); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

func TestOpenDeliveriesAreCountedBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: 10}}}
		q := known(t, s)
		s.open.Store(4)
		first, err := q.Reserve(t.Context(), "bank", work.Payer{}, 6)
		if err != nil {
			t.Fatal(err)
		}
		if b := boundOf(t, reserve(t, q, 1)); b != (posthouse.Bound{Of: "tenant", Name: "bank", What: "open", Max: 10, Open: 10}) {
			t.Errorf("the bound is %+v", b)
		}
		first(2) // four were duplicates, or were not stored
		if err := reserve(t, q, 4); err != nil {
			t.Errorf("what was not stored counts: %v", err)
		}
		boundOf(t, reserve(t, q, 1))
		if n := s.counts.Load(); n != 1 {
			t.Errorf("the database was asked %d times within a moment, want once", n)
		}
		s.open.Store(0) // all are settled
		time.Sleep(time.Second)
		if err := reserve(t, q, 6); err != nil || s.counts.Load() != 2 {
			t.Errorf("after the next count: %v, counted %d times", err, s.counts.Load())
		}
	})
}

// reserve stores n.
func reserve(t *testing.T, q *quota.Quotas, n int) error {
	t.Helper()
	done, err := q.Reserve(t.Context(), "bank", work.Payer{}, n)
	if done != nil {
		done(n)
	}
	return err
}

func TestACountIsRefreshedWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: 10}}}
		q := known(t, s)
		if err := reserve(t, q, 1); err != nil {
			t.Fatal(err)
		}
		s.open.Store(10) // another process accepted them
		time.Sleep(6 * time.Second)
		boundOf(t, reserve(t, q, 1))
	})
}

func TestAKeyPaysForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := known(t, &fakeStore{})
		payer := work.Payer{Key: "k1", Open: 2}
		if _, err := q.Reserve(t.Context(), "bank", payer, 2); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Reserve(t.Context(), "bank", payer, 1); boundOf(t, err).Name != "k1" {
			t.Errorf("got %v", err)
		}
		if done, err := q.Reserve(t.Context(), "bank", work.Payer{}, 1); done != nil || err != nil {
			t.Errorf("without a quota something is counted: %v", err)
		}
	})
}

func TestWhatNeverFitsIsNotAskedToComeAgain(t *testing.T) {
	t.Parallel()
	q := known(t, &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: 10}}})
	if err := reserve(t, q, 11); posthouse.CodeOf(err) != posthouse.CodeTooLarge {
		t.Errorf("got %v", err)
	}
}

func TestACountThatFailsLetsNothingIn(t *testing.T) {
	t.Parallel()
	s := &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: 10}}, err: posthouse.Errorf(posthouse.CodeUnavailable, "away")}
	if err := reserve(t, known(t, s), 1); posthouse.CodeOf(err) != posthouse.CodeUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestMetricsShowQuotasAndRefusals(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	s := &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: 2}}}
	q := quota.New(quota.Options{Store: s, Metrics: reg})
	if err := q.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := reserve(t, q, 2); err != nil {
		t.Fatal(err)
	}
	boundOf(t, reserve(t, q, 1))
	if got, want := series(t, reg), "posthouse_quota_open{bank} 2; posthouse_quota_open_max{bank} 2; posthouse_quota_refusals_total{tenant bank open} 1"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.quotas = nil
	if err := q.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := series(t, reg); got != "" {
		t.Errorf("series of a quota that is gone stay: %s", got)
	}
}

// series are all there are, each with the values of its labels.
func series(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			list = append(list, fmt.Sprintf("%s{%s} %v", f.GetName(), strings.Join(labels, " "), m.GetGauge().GetValue()+m.GetCounter().GetValue()))
		}
	}
	return strings.Join(list, "; ")
}

func TestCheckNamesWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, p := range quota.Check(posthouse.Quota{Requests: []posthouse.Limit{{Max: 1, Per: posthouse.Duration(time.Second)}, {Max: 0, Per: posthouse.Duration(time.Second)}}, Open: -1}) {
		paths = append(paths, p.Path)
	}
	if got := strings.Join(paths, " "); got != "requests[1].max open" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkWithoutAQuota(b *testing.B) {
	q := quota.New(quota.Options{Store: &fakeStore{}})
	key := posthouse.Key{ID: "k1", Tenant: "bank"}
	for b.Loop() {
		_ = q.Request(b.Context(), key)
		_, _ = q.Reserve(b.Context(), "bank", work.Payer{}, 1)
	}
}

func BenchmarkWithQuotas(b *testing.B) {
	s := &fakeStore{quotas: map[string]posthouse.Quota{"bank": {Open: quota.MaxOpen, Requests: windows(1_000_000_000, time.Second)}}}
	q := quota.New(quota.Options{Store: s})
	if err := q.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	key := posthouse.Key{ID: "k1", Tenant: "bank"}
	for b.Loop() {
		_ = q.Request(b.Context(), key)
		if done, err := q.Reserve(b.Context(), "bank", work.Payer{}, 1); err == nil {
			done(0)
		}
	}
}
