package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/console"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/sqldb"
	"github.com/posthouse/posthouse/internal/web"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// ErrPlace comes by Failed when what this place may do has changed: it was passive and may send now, or the other way round. Stop
// the server and make it anew, and it does that.
var ErrPlace = errors.New("what this place may do has changed: the server has to be made anew")

// place is what a server knows of the place that it stands at (ADR 0102). Nil where there are no places.
type place struct {
	name string
	urls map[string]string
	log  *slog.Logger
	http *http.Client
	now  atomic.Pointer[stance]
}

// stance is what a place may do. It sends, or it is passive: it shows what there is, and accepts nothing.
type stance struct {
	passive bool
	why     string       // of a passive one, for people
	holding work.Holding // zero where no place holds the epoch
}

const (
	placeLook  = 500 * time.Millisecond // between two looks at the database
	placePeers = 2 * time.Second        // between two looks at the other places, and how long one may take
	placeLost  = 4                      // failed looks after which an active place asks whether its database is a standby now
)

// checkPlaces says what is wrong with the names of places and with their URLs.
func checkPlaces(o *Options) error {
	if o.Place == "" {
		if len(o.Places) > 0 {
			return errors.New("places is set, and place is not: want the name of the place that this server stands at, such as place: a")
		}
		return nil
	}
	var problems []error
	for _, name := range append([]string{o.Place}, slices.Sorted(maps.Keys(o.Places))...) {
		problems = append(problems, work.CheckPlace(name))
	}
	for _, name := range slices.Sorted(maps.Keys(o.Places)) {
		if u, err := url.Parse(o.Places[name]); err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			problems = append(problems, fmt.Errorf("places has %.100q for %s: want the URL of its server, such as https://a.posthouse.example", o.Places[name], name))
		}
	}
	return errors.Join(problems...)
}

// openPlace finds out what this server may do, before it changes anything in the database. A passive one keeps the connections by
// which it looked: they may be to a standby.
func (s *Server) openPlace(ctx context.Context) error {
	if err := checkPlaces(&s.o); err != nil || s.o.Place == "" {
		return err
	}
	s.place = &place{name: s.o.Place, urls: s.o.Places, log: s.o.Log, http: &http.Client{Timeout: placePeers}}
	if path, _ := sqldb.SQLiteFile(s.o.DSN); sqldb.NotMade(s.o.DSN) {
		s.o.Log.Debug("there is no database yet for a place to hold", "file", path)
		s.place.now.Store(&stance{})
		return nil
	}
	st, is, err := s.place.open(ctx, &s.o)
	if err != nil {
		return err
	}
	if !is.passive {
		if to, beaten := s.place.beaten(ctx, is.holding); beaten {
			if err := st.Places.Yield(ctx, time.Now(), to); err != nil {
				return errors.Join(err, st.Close())
			}
			if is, err = s.place.look(ctx, st); err != nil {
				return errors.Join(err, st.Close())
			}
		}
	}
	s.place.now.Store(&is)
	if !is.passive {
		return st.Close()
	}
	s.store = st
	s.closing.add(st.Close)
	s.o.Log.Warn("this place is passive: it accepts and sends nothing", "place", s.place.name, "why", is.why)
	return nil
}

// open opens the database as it is and looks.
func (p *place) open(ctx context.Context, o *Options) (*store.Store, stance, error) {
	st, err := store.Open(ctx, store.Options{DSN: o.DSN, Log: o.Log, MustExist: true, Standby: true})
	if err != nil {
		return nil, stance{}, err
	}
	is, err := p.look(ctx, st)
	if err != nil {
		return nil, stance{}, errors.Join(err, st.Close())
	}
	return st, is, nil
}

// look finds out what this place may do. A database is sent by from one place: the one that holds its epoch.
func (p *place) look(ctx context.Context, st *store.Store) (stance, error) {
	standby, err := st.DB.InRecovery(ctx)
	if err != nil {
		return stance{}, err
	}
	if have, _, err := st.Schema.Schema(ctx); err != nil || have == 0 {
		return stance{passive: standby, why: "its database is a standby, and has no tables yet"}, err
	}
	h, epoch, found, err := st.Places.Holding(ctx)
	if err != nil {
		return stance{}, err
	}
	is := stance{passive: true, holding: h}
	switch {
	case !found:
		is.holding = work.Holding{}
		is.passive = standby || epoch < 0
		is.why = "its database is a standby, and no place has begun to send yet"
		if epoch < 0 {
			is.why = "the epoch of the database is being raised"
		}
	case standby && h.Place == p.name:
		is.why = "it takes over as soon as its database is promoted"
	case standby:
		is.why = fmt.Sprintf("its database is a standby of %s", h.Place)
	case h.Place != p.name:
		is.why = fmt.Sprintf("%s holds epoch %d of the database, which takes writes here. If %s is lost, run posthouse migrate new-epoch --yes here", h.Place, h.Epoch, h.Place)
	case h.Phase == work.PhaseLeaving:
		is.why = fmt.Sprintf("the place %s still ends what it began", h.From)
	default:
		is.passive = false
	}
	if !is.passive {
		is.why = ""
	}
	return is, nil
}

// take begins to send at this place. Another one that was faster makes it passive.
func (s *Server) takePlace(ctx context.Context) error {
	if s.place == nil {
		return s.refuseUnplaced(ctx)
	}
	h, err := s.store.Places.Take(ctx, time.Now(), s.place.name)
	if err != nil {
		return err
	}
	if h.Place != s.place.name || h.Phase != work.PhaseHeld {
		return fmt.Errorf("%w: the place %s holds the database", ErrPlace, h.Place)
	}
	s.place.now.Store(&stance{holding: h})
	s.store.SetPlace(s.place.name)
	s.o.Log.Info("this place holds the database", "place", h.Place, "epoch", h.Epoch)
	return nil
}

// refuseUnplaced keeps a server without a place off a database that places hold: it would send beside them.
func (s *Server) refuseUnplaced(ctx context.Context) error {
	h, _, found, err := s.store.Places.Holding(ctx)
	if err == nil && found {
		err = fmt.Errorf("the place %s holds the database: say by the setting place where this server stands, such as place: %s; or run posthouse place forget --yes, if there are no places any more", h.Place, h.Place)
	}
	return err
}

// passive reports whether this server stands at a place that does not send now.
func (s *Server) passive() bool { return s.place != nil && s.place.now.Load().passive }

// elsewhere answers what is to change something at a passive place; nil at one that sends.
func (p *place) elsewhere() error {
	is := p.now.Load()
	if !is.passive {
		return nil
	}
	err := &posthouse.Error{Code: posthouse.CodeUnavailable, Message: "this place takes over and is not ready yet: try again", Cause: work.ErrElsewhere}
	if at := is.holding.Place; at != "" && at != p.name {
		err.Message = fmt.Sprintf("the place %s holds the database now: try there", at)
		err.Place = &posthouse.Place{Name: at, URL: p.urls[at]}
	}
	return err
}

// refusal is elsewhere where there are places, else nil.
func (p *place) refusal() func() error {
	if p == nil {
		return nil
	}
	return p.elsewhere
}

// directed adds where to go to an accept that another place's holding has refused.
func (p *place) directed(err error) error {
	var coded *posthouse.Error
	if p == nil || !errors.Is(err, work.ErrElsewhere) || !errors.As(err, &coded) {
		return err
	}
	told := *coded
	told.Place = &posthouse.Place{Name: told.Place.Name, URL: p.urls[told.Place.Name]}
	return &told
}

// refusing answers at a passive place every request that is more than a look. The console's own doors stay open: its pages ask the API,
// which refuses.
func (p *place) refusing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		looks := r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
		if err := p.elsewhere(); err != nil && !looks && !strings.HasPrefix(r.URL.Path, console.Root) {
			web.Refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// said is what /readyz says of the place, nil where there are none.
func (p *place) said() *wire.PlaceStance {
	if p == nil {
		return nil
	}
	is := p.now.Load()
	out := &wire.PlaceStance{Name: p.name, Active: !is.passive, Epoch: is.holding.Epoch, Since: is.holding.Since}
	if h := is.holding.Place; h != "" {
		out.Holder = &posthouse.Place{Name: h, URL: p.urls[h]}
	}
	return out
}

// check is the part of the readiness that a place has.
func (p *place) check() []Check {
	if p == nil {
		return nil
	}
	if is := p.now.Load(); is.passive {
		return []Check{{Name: "place", Detail: fmt.Sprintf("the place %s is passive: %s", p.name, is.why)}}
	}
	return []Check{{Name: "place", OK: true, Detail: fmt.Sprintf("the place %s sends", p.name)}}
}

// measure registers what the metrics say of the place.
func (p *place) measure(r *prometheus.Registry) error {
	return r.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "posthouse", Name: "place_active", Help: "Whether the place that the server stands at sends: 1, or 0 for passive.", ConstLabels: prometheus.Labels{"place": p.name},
	}, func() float64 {
		if p.now.Load().passive {
			return 0
		}
		return 1
	}))
}

// watchPlace looks whether what this place may do has changed, and ends the server for it.
func (s *Server) watchPlace(ctx context.Context) {
	tick := time.NewTicker(placeLook)
	defer tick.Stop()
	lost := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is, err := s.lookAgain(ctx, &lost)
		was := s.place.now.Load()
		switch {
		case err != nil:
			continue // a database that does not answer is the readiness's to say
		case is.passive == was.passive && (is.passive || is.holding.Epoch == was.holding.Epoch):
			s.place.now.Store(&is)
			continue
		case !is.passive && !was.passive:
			continue // a person began an epoch here, which wants a restart as it does without places
		case is.passive:
			s.retire(ctx, is)
		default:
			s.o.Log.Warn("this place may send now", "place", s.place.name)
		}
		s.fail(fmt.Errorf("%w: %s", ErrPlace, cmp.Or(is.why, "it may send")))
		return
	}
}

// lookAgain looks by the connections there are. Those of an active place are to a database that takes writes alone: where they fail for
// long, it looks by others whether that has become a standby.
func (s *Server) lookAgain(ctx context.Context, lost *int) (stance, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	is, err := s.place.look(ctx, s.store)
	if err == nil {
		*lost = 0
		return is, nil
	}
	if *lost++; *lost < placeLost || s.passive() {
		return stance{}, err
	}
	*lost = 0
	st, is, err := s.place.open(ctx, &s.o)
	if err != nil {
		return stance{}, err
	}
	return is, st.Close()
}

// retire makes an active place passive: nothing is accepted or started any more, callers are told where to go, and what was begun ends
// and is recorded, within the drain.
func (s *Server) retire(ctx context.Context, is stance) {
	s.place.now.Store(&is)
	s.o.Log.Warn("this place becomes passive: what is under way ends", "place", s.place.name, "why", is.why)
	s.engine.Outlive()
	s.engine.Rest()
	s.engine.Pull.Dismiss()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Drain)
	defer cancel()
	if err := s.engine.Stop(ctx); err != nil {
		s.o.Log.Warn("not all that was under way could be ended", "error", err)
	}
}

// watchPeers asks the other places whether one of them holds a copy of the database too, and has the better right to it. Two places that both
// send are found as soon as one of them sees the other.
func (s *Server) watchPeers(ctx context.Context) {
	tick := time.NewTicker(placePeers)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		is := s.place.now.Load()
		if is.passive {
			return
		}
		to, beaten := s.place.beaten(ctx, is.holding)
		if !beaten {
			continue
		}
		s.o.Log.Error("another place holds a copy of the database with a better right: this one stops. What it accepted since the copies parted is not there", "place", s.place.name, "epoch", is.holding.Epoch, "other", to.Place, "its_epoch", to.Epoch)
		if err := s.store.Places.Yield(ctx, time.Now(), to); err != nil {
			s.o.Log.Error("that it stops cannot be written", "error", err)
			continue
		}
	}
}

// beaten asks the other places, and reports which of them holds a copy of the database with a better right than one's own.
func (p *place) beaten(ctx context.Context, own work.Holding) (to work.Holding, is bool) {
	if own.Place == "" {
		return to, false // nothing is held yet
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for name, at := range p.urls {
		if name == p.name {
			continue
		}
		all.Go(func() {
			h, err := p.ask(ctx, name, at)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && h.Place != "" && h.Beats(own) && (!is || h.Beats(to)) {
				to, is = h, true
			}
		})
	}
	all.Wait()
	return to, is
}

// maxReadiness bounds the answer of another place, and mostEpoch the epoch that it may say: one above it is written here.
const (
	maxReadiness = 1 << 20
	mostEpoch    = 1 << 40
)

// ask reads what another place holds; zero where it is passive.
func (p *place) ask(ctx context.Context, name, at string) (work.Holding, error) {
	ctx, cancel := context.WithTimeout(ctx, placePeers)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(at, "/")+"/readyz", nil)
	if err != nil {
		return work.Holding{}, err
	}
	answer, err := p.http.Do(req)
	if err != nil {
		return work.Holding{}, err
	}
	defer answer.Body.Close()
	var said wire.Readiness
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxReadiness)).Decode(&said); err != nil {
		return work.Holding{}, err
	}
	if said.Place == nil || said.Place.Name != name || !said.Place.Active || said.Place.Epoch < 0 || said.Place.Epoch > mostEpoch {
		return work.Holding{}, nil
	}
	return work.Holding{Place: name, Epoch: said.Place.Epoch, Since: said.Place.Since, Phase: work.PhaseHeld}, nil
}
