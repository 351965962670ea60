package suppress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/channel"
	"github.com/posthouse/posthouse/internal/audience"
	"github.com/posthouse/posthouse/internal/draft"
	"github.com/posthouse/posthouse/internal/phone"
	"github.com/posthouse/posthouse/internal/state"
	"github.com/posthouse/posthouse/internal/work"
	"github.com/posthouse/posthouse/wire"
)

// book is a store that keeps what it is told.
type book struct {
	list   map[key]posthouse.Suppression
	writes []int // how many each write had
	over   []int // how many each look for what is over finds, in turn
	wrong  error
	mu     sync.Mutex // of over and wrong, where Run looks too
}

// set says what the next looks find.
func (b *book) set(wrong error, over ...int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong, b.over = wrong, over
}

// left are what no look has found yet.
func (b *book) left() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.over)
}

func (b *book) Suppress(_ context.Context, _ time.Time, list []posthouse.Suppression) error {
	if b.wrong != nil {
		return b.wrong
	}
	if !slices.IsSortedFunc(list, func(a, b posthouse.Suppression) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Channel, b.Channel))
	}) {
		return errors.New("they come in no order: two writes would wait for each other")
	}
	b.writes = append(b.writes, len(list))
	for _, s := range list {
		b.list[key{s.Address, s.Channel}] = s
	}
	return nil
}

func (b *book) Unsuppress(_ context.Context, _ time.Time, _, channel string, addresses []string, source posthouse.SuppressionSource) (n int64, err error) {
	for _, a := range addresses {
		if s, is := b.list[key{a, channel}]; is && (source == "" || s.Source == source) {
			delete(b.list, key{a, channel})
			n++
		}
	}
	return n, b.wrong
}

func (b *book) Suppressions(_ context.Context, _ string, of work.SuppressionsOf, _ string, _ int) (list []posthouse.Suppression, _ string, err error) {
	for k, s := range b.list {
		if (of.Channel == "" || of.Channel == k.channel) && (len(of.Addresses) == 0 || slices.Contains(of.Addresses, k.address)) {
			list = append(list, s)
		}
	}
	return list, "", b.wrong
}

func (b *book) PruneSuppressions(context.Context, time.Time, int) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.over) == 0 {
		return 0, b.wrong
	}
	n, b.over = b.over[0], b.over[1:]
	return n, b.wrong
}

// keys are what is stored, as address@channel.
func (b *book) keys() string {
	var list []string
	for k := range b.list {
		list = append(list, k.address+"@"+k.channel)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// shops are the channels: "sms" keeps numbers without their country, "mail" keeps small letters, and "any" takes all as it is.
type shops map[string]*state.Channel

func (s shops) Channel(_, name string) *state.Channel { return s[name] }

func (s shops) Names(string) []string { return slices.Sorted(maps.Keys(s)) }

func digits(text string) (string, error) {
	text = strings.TrimPrefix(text, "+86")
	if strings.Trim(text, "0123456789") != "" {
		return "", fmt.Errorf("%q is no number", text)
	}
	return text, nil
}

func small(text string) (string, error) {
	if !strings.Contains(text, "@") {
		return "", errors.New("has no @")
	}
	name, domain, _ := strings.Cut(text, "@") // as the e-mail driver does
	return name + "@" + strings.ToLower(domain), nil
}

// newList is an empty list beside its store.
func newList() (*List, *book) {
	b := &book{list: map[key]posthouse.Suppression{}}
	return New(b, shops{"sms": {Opened: state.Opened{Address: digits}}, "mail": {Opened: state.Opened{Address: small}}}), b
}

// An address is stored in the form in which its channel keeps it, or in one for all channels, and found and removed by any.
func TestAddressesAreKeptAsTheirChannelsKeepThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ channel, address, want string }{
		"by one channel":              {"sms", " +8613812345678 ", "13812345678@sms"},
		"by the one that takes it":    {"", "Ann@Example.com", "ann@example.com@"},
		"by none":                     {"", "openid-1", "openid-1@"},
		"by none, in capitals":        {"", "U90", "u90@"},
		"the same form twice is once": {"", "13812345678", "+8613812345678@"},
	} {
		l, b := newList()
		if _, err := l.Add(t.Context(), "t1", wire.SuppressionDraft{Channel: c.channel, Address: c.address}); err != nil || b.keys() != c.want {
			t.Errorf("%s: %q is stored, %v; want %q", name, b.keys(), err, c.want)
		}
		if list, _, err := l.Find(t.Context(), "t1", "", c.address, "", 10); err != nil || len(list) != 1 {
			t.Errorf("%s: it is found as %+v, %v", name, list, err)
		}
		if err := l.Remove(t.Context(), "t1", c.channel, c.address); err != nil || b.keys() != "" {
			t.Errorf("%s: %q is left, %v", name, b.keys(), err)
		}
		if err := l.Remove(t.Context(), "t1", c.channel, c.address); posthouse.CodeOf(err) != posthouse.CodeNotFound {
			t.Errorf("%s: a second removal: %v", name, err)
		}
	}
	l, _ := newList()
	shop := l.channels.(shops)
	shop["any"] = &state.Channel{}
	if got := l.forms("t1", "", "+8613812345678", &draft.Problems{}); !slices.Equal(got, []string{"+8613812345678"}) {
		t.Errorf("kept by two channels in two ways: %q", got)
	}
	shop["bare"] = &state.Channel{Opened: state.Opened{Address: func(text string) (string, error) { return "tel:" + text, nil }}}
	if got := l.forms("t1", "", "+8613812345678", &draft.Problems{}); !slices.Equal(got, []string{"+8613812345678", "tel:+8613812345678"}) {
		t.Errorf("kept by a channel in a way of its own: %q", got)
	}
	delete(shop, "bare")
	// What was stored while its channel was open can be removed when it is not.
	delete(shop, "sms")
	if _, err := l.Add(t.Context(), "t1", wire.SuppressionDraft{Channel: "sms", Address: "1"}); err == nil {
		t.Error("a channel that is not open took an address")
	}
	if got := l.lookedFor("t1", "sms", "1", &draft.Problems{}); !slices.Equal(got, []string{"1"}) {
		t.Errorf("in a channel that is not open it is looked for as %q", got)
	}
}

// An opt-out holds whichever way the provider writes the address, and an opt-in ends an opt-out, not what a person has stored.
func TestWhatProvidersTellHoldsInTheFormOfTheChannel(t *testing.T) {
	t.Parallel()
	l, b := newList()
	if _, err := l.Add(t.Context(), "t1", wire.SuppressionDraft{Channel: "sms", Address: "1390"}); err != nil {
		t.Fatal(err)
	}
	told := []channel.Consent{{Address: "+861380", Reason: "unsubscribe"}, {Address: ""}, {Address: "a\nb"}}
	if err := l.Hear(t.Context(), "t1", "sms", told); err != nil || b.keys() != "1380@sms 1390@sms" {
		t.Fatalf("after an opt-out: %q, %v", b.keys(), err)
	}
	if got := b.list[key{"1380", "sms"}]; got.Source != posthouse.SuppressedByCallback || got.Reason != "unsubscribe" || got.Tenant != "t1" {
		t.Errorf("the opt-out is %+v", got)
	}
	if err := l.Hear(t.Context(), "t1", "sms", []channel.Consent{{Address: "+861380", In: true}, {Address: "1390", In: true}}); err != nil || b.keys() != "1390@sms" {
		t.Errorf("after both have opted in: %q, %v", b.keys(), err)
	}
	b.wrong = errors.New("away")
	if err := l.Hear(t.Context(), "t1", "sms", told); !errors.Is(err, b.wrong) {
		t.Errorf("a write that fails: %v: the provider would not tell again", err)
	}
}

// A file is stored a part at a time, the last word of an address counts, and a file that ends early leaves what came of it.
func TestImportsAreStoredInPartsAsTheyCome(t *testing.T) {
	t.Parallel()
	l, b := newList()
	file := "address,reason\n"
	for i := range 2*importBatch + 1 {
		file += fmt.Sprintf("%d,first\n", i)
	}
	file += "+86000,\n2000,last\n"
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms", Reason: "by file"}, strings.NewReader(file))
	if want := int64(2*importBatch + 3); err != nil || done.Stored != want || done.Refused != 0 {
		t.Errorf("%+v, %v; want %d stored", done, err, want)
	}
	if !slices.Equal(b.writes, []int{importBatch, importBatch, 2}) {
		t.Errorf("written as %v", b.writes)
	}
	if last, given := b.list[key{"2000", "sms"}], b.list[key{"000", "sms"}]; last.Reason != "last" || given.Reason != "by file" || given.Source != posthouse.SuppressedByImport {
		t.Errorf("stored as %+v and %+v", last, given)
	}
	l, b = newList()
	cut := io.MultiReader(strings.NewReader("address\n1\n2\n"), iotest.ErrReader(errors.New("reset")))
	if _, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{}, cut); posthouse.CodeOf(err) != posthouse.CodeInvalid || !strings.Contains(fmt.Sprint(err), "send it again") || b.keys() != "1@ 2@" {
		t.Errorf("a file that was cut: %v, stored %q", err, b.keys())
	}
	_, err = l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "fax"}, strings.NewReader("address\n1\n"))
	if err == nil || !strings.Contains(err.Error(), "query.channel") {
		t.Errorf("a channel that is not there: %v", err)
	}
	b.wrong = errors.New("away")
	if _, err = l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{}, strings.NewReader("address\n1\n")); !errors.Is(err, b.wrong) {
		t.Errorf("a store that is away: %v", err)
	}
}

// What is refused is counted, and the first hundred are shown.
func TestImportsShowTheFirstThatAreRefused(t *testing.T) {
	t.Parallel()
	l, b := newList()
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms"}, strings.NewReader("address\n"+strings.Repeat("x\n", mostShown+20)+"1\n"))
	if err != nil || done.Stored != 1 || done.Refused != mostShown+20 || len(done.First) != mostShown || b.keys() != "1@sms" {
		t.Errorf("%d stored, %d refused, %d shown, %v, and there is %q", done.Stored, done.Refused, len(done.First), err, b.keys())
	}
	if first := done.First[0]; first.Line != 2 || !strings.Contains(first.Reason, "is no number") || first.Text != "x" {
		t.Errorf("the first: %+v", first)
	}
}

// What is over is deleted a batch after the other until there is none, and again every ten minutes, also after an error.
func TestWhatIsOverIsDeletedAgainAndAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, b := newList()
		b.set(nil, pruneBatch, pruneBatch, 3, 7)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.Run(ctx, slog.New(slog.DiscardHandler)) }()
		synctest.Wait()
		if left := b.left(); !slices.Equal(left, []int{7}) {
			t.Errorf("left after the first look: %v", left)
		}
		b.set(errors.New("away"), 7)
		time.Sleep(pruneEvery)
		synctest.Wait()
		b.set(nil, 1)
		time.Sleep(pruneEvery)
		synctest.Wait()
		if left := b.left(); len(left) > 0 {
			t.Errorf("left after an error and ten minutes: %v", left)
		}
		stop()
		<-ended
	})
}

// The first moment of the year 1 is what is kept where there is no end: a record that names it must not hold for ever.
func TestATimeThatHasPassedIsNoTimeForEver(t *testing.T) {
	t.Parallel()
	l, b := newList()
	file := "address,until\n1,0001-01-01T00:00:00Z\n2,2001-01-01T00:00:00Z\n3,\n4,2999-01-01T00:00:00Z\n5,0001-01-01T08:00:00+08:00\n"
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms"}, strings.NewReader(file))
	if err != nil || done.Stored != 2 || done.Refused != 3 || b.keys() != "3@sms 4@sms" {
		t.Errorf("%+v, %v, stored %q; want 3 and 4", done, err, b.keys())
	}
	for _, r := range done.First {
		if !strings.HasPrefix(r.Reason, "until: ") || !strings.Contains(r.Reason, "has passed") {
			t.Errorf("line %d is refused since %q", r.Line, r.Reason)
		}
	}
}

// A number is taken as people write it, for one channel and for all; a name in its column is no address.
func TestNumbersWithSpacesAreImported(t *testing.T) {
	t.Parallel()
	for channel, want := range map[string]string{"phone": "+8613800138209@phone", "": "+8613800138209@"} {
		b := &book{list: map[key]posthouse.Suppression{}}
		l := New(b, shops{"phone": {Opened: state.Opened{Address: func(text string) (string, error) {
			n, err := phone.Parse(text, phone.Home)
			return n.E164, err
		}}}})
		file := "phone\n138 0013 8209\n+86 138-0013-8209\nAnn Other\n"
		done, err := l.Import(t.Context(), "t1", audience.Format{Address: "phone"}, wire.SuppressionDraft{Channel: channel}, strings.NewReader(file))
		if err != nil || done.Stored != 2 || done.Refused != 1 || b.keys() != want {
			t.Errorf("%q: %+v, %v, stored %q; want %q", channel, done, err, b.keys(), want)
		}
	}
}

// An address that a page shows as another one is refused, with its field; what is stored so can be removed, and a number loses such marks.
func TestAnAddressIsSeenAsItIs(t *testing.T) {
	t.Parallel()
	const odd = "!! {<x \"\u202e"
	l, b := newList()
	_, err := l.Add(t.Context(), "t1", wire.SuppressionDraft{Address: odd})
	var coded *posthouse.Error
	if !errors.As(err, &coded) || len(coded.Problems) != 1 || coded.Problems[0].Path != "address" || !strings.Contains(coded.Problems[0].Message, "turn the order") {
		t.Errorf("added: %v", err)
	}
	file := "address\n" + "\"!! {<x\u202e\"\nu\u200b1\n\u202d138 0013 8000\u202c\nu2\n"
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{}, strings.NewReader(file))
	if err != nil || done.Stored != 2 || done.Refused != 2 || !strings.HasPrefix(done.First[0].Reason, "address: holds characters that nobody sees") || strings.ContainsFunc(b.keys(), draft.Unseen) {
		t.Errorf("imported: %+v, %v, stored %q", done, err, b.keys())
	}
	if _, err = l.Add(t.Context(), "t1", wire.SuppressionDraft{Address: " u3 "}); err != nil || b.list[key{"u3", ""}].Address != "u3" {
		t.Errorf("with spaces around it: %v, stored %q", err, b.keys())
	}
	b.list[key{odd, ""}] = posthouse.Suppression{Address: odd} // as a version before has taken it
	if err = l.Remove(t.Context(), "t1", "", odd); err != nil {
		t.Errorf("removed: %v", err)
	}
}

// A number of which a spreadsheet has cut off digits bars nobody: its line is refused, by its column's name or by what the channel's addresses are. One
// that has them all is taken, and where addresses are free texts a cell is left as it is.
func TestANumberThatASpreadsheetHasSpoiltIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ channel, file, want string }{
		{"sms", "number\n1.38E+10\n13800138000.0\n1.3800138000E+10\n", "13800138000@sms"},
		{"free", "手机号\n1.38E+10\n13900139000.00\n", "13900139000@free"},
		{"free", "address\n1.38E+10\n13800138000.0\n", "1.38e+10@free 13800138000.0@free"},
		{"", "address,channel\n1.38E+10,sms\n13800138000.0,sms\n", "13800138000@sms"},
		{"", "address\n1.38E+10\n12E5\n", "12e5@"},
	} {
		b := &book{list: map[key]posthouse.Suppression{}}
		l := New(b, shops{"sms": {Opened: state.Opened{Address: digits, Addresses: channel.AddressPhone}}, "free": {Opened: state.Opened{Address: func(text string) (string, error) { return strings.ToLower(text), nil }}}})
		done, err := l.Import(t.Context(), "t1", audience.Format{Address: strings.FieldsFunc(c.file, func(r rune) bool { return r == ',' || r == '\n' })[0]}, wire.SuppressionDraft{Channel: c.channel}, strings.NewReader(c.file))
		if err != nil || b.keys() != c.want {
			t.Errorf("%q, %q: %+v, %v, stored %q; want %q", c.channel, c.file, done, err, b.keys(), c.want)
		}
		for _, r := range done.First {
			if !strings.Contains(r.Reason, "is 1.38E+10: a spreadsheet has cut off digits of the number") {
				t.Errorf("%q, %q: refused since it %s", c.channel, c.file, r.Reason)
			}
		}
	}
}

// A trial of a file says what an import of it stores and refuses, how many of its records stand there already, and stores nothing. What an
// export has guarded from spreadsheets is read as it was.
func TestATrialOfAFileStoresNothing(t *testing.T) {
	t.Parallel()
	l, b := newList()
	if _, err := l.Add(t.Context(), "t1", wire.SuppressionDraft{Channel: "sms", Address: "+8613812345678"}); err != nil {
		t.Fatal(err)
	}
	file := "phone,reason\n'+8613812345678,'=left\n13912345678,\n13912345678,again\nx,\n"
	before := b.keys()
	would, err := l.TryImport(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms"}, strings.NewReader(file))
	if err != nil || would.Stored != 3 || would.Refused != 1 || would.Replaced != 1 || !would.DryRun || len(would.Would) != 3 || b.keys() != before || len(b.writes) != 1 {
		t.Errorf("the trial: %+v, %v, stored %q", would, err, b.keys())
	}
	if first := would.Would[0]; first.Address != "13812345678" || first.Reason != "=left" || first.Channel != "sms" {
		t.Errorf("the first as it would be stored: %+v", first)
	}
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms"}, strings.NewReader(file))
	if err != nil || done.Stored != would.Stored || done.Refused != would.Refused || b.keys() != "13812345678@sms 13912345678@sms" {
		t.Errorf("the import: %+v, %v, stored %q", done, err, b.keys())
	}
	var long strings.Builder
	long.WriteString("phone\n")
	for i := range 3 * importBatch {
		fmt.Fprintf(&long, "1%010d\n", i)
	}
	if would, err = l.TryImport(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{Channel: "sms"}, strings.NewReader(long.String())); err != nil || would.Stored != 3*importBatch || would.Replaced != 0 || len(would.Would) != mostWould {
		t.Errorf("of many: stored %d, replaced %d, shown %d, %v", would.Stored, would.Replaced, len(would.Would), err)
	}
}

// A number is one address for all channels, however it is written, and what is none keeps its signs.
func TestANumberIsOneAddressForAllChannels(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"13800138009": "+8613800138009", "8613800138009": "+8613800138009", "+86 138-0013-8009": "+8613800138009", "0086 (138) 0013.8009": "+8613800138009",
		"86-138-0013-8009": "+8613800138009", "+447911123456": "+447911123456", "00447911123456": "+447911123456",
		"1000213": "1000213", "010-12345678": "010-12345678", "U90": "u90", "Ann@Example.com": "ann@example.com", "12800138009": "12800138009", "": "", "+86": "+86", "138001380091": "138001380091",
	} {
		if got := Everywhere(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Columns are known by their heads in Chinese and in capitals too: a time that nobody reads is a suppression for ever.
func TestColumnsOfAFileAreKnownInChinese(t *testing.T) {
	t.Parallel()
	l, b := newList()
	done, err := l.Import(t.Context(), "t1", audience.Format{}, wire.SuppressionDraft{}, strings.NewReader("邮箱,原因,截止时间\nann@example.com,退订,2040-01-01T00:00:00Z\nbob@example.com,退订,2020-01-01T00:00:00Z\ncid@example.com,,不是日期\n"))
	if err != nil || done.Stored != 1 || done.Refused != 2 || b.keys() != "ann@example.com@" {
		t.Errorf("%+v, %v, stored %s", done, err, b.keys())
	}
	if got := b.list[key{"ann@example.com", ""}]; got.Reason != "退订" || got.Until.Year() != 2040 {
		t.Errorf("stored is %+v", got)
	}
}
