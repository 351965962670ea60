package registry

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/store/sqldb"
)

// Users are found by words that stand in a table of their own, written with them: the directory may have a hundred thousand, and a page
// has a tenth of a second.

var wordsTable = sqldb.NewTable("posthouse_user_words", "tenant", "word", "user_id")

// Bounds of the words of a user: how many parts of a name there are, and how many bytes of a word count.
const (
	mostParts = 32
	longWord  = 240
)

// wordsOf are those by which a user is found: the addresses, and the id and the name from each place at which somebody may begin to type
// them. Chinese begins at each character, other writing at each word.
func wordsOf(u posthouse.User) []string {
	list := append(beginnings(u.ID), beginnings(u.Name)...)
	for _, address := range u.Addresses {
		list = append(list, word(address))
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(w string) bool { return w == "" })
}

// beginnings is a text from each of those places to its end.
func beginnings(text string) (list []string) {
	text = strings.ToLower(text)
	inside := false // a word of letters and digits
	for i, r := range text {
		writes := unicode.IsLetter(r) || unicode.IsDigit(r)
		if len(list) < mostParts && (i == 0 || writes && (!inside || unicode.Is(unicode.Han, r))) {
			list = append(list, word(text[i:]))
		}
		inside = writes
	}
	return list
}

// word is a text as it stands in the table.
func word(text string) string {
	text = strings.ToLower(text)
	if len(text) > longWord {
		text = strings.ToValidUTF8(text[:longWord], "")
	}
	return text
}

// putWords gives users their words and no others.
func putWords(t *sqldb.Tx, tenant string, users map[string]posthouse.User) error {
	var rows [][]any
	var ids []string
	for id, u := range users {
		ids = append(ids, id)
		for _, w := range wordsOf(u) {
			rows = append(rows, []any{tenant, w, id})
		}
	}
	if err := clearWords(t, tenant, ids); err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(a[1].(string)+a[2].(string), b[1].(string)+b[2].(string)) })
	return t.Insert(wordsTable, rows)
}

func clearWords(t *sqldb.Tx, tenant string, users []string) error {
	for part := range sqldb.Parts(slices.Sorted(slices.Values(users)), 500) {
		clause, args := t.DB.In("user_id", part)
		if _, err := t.Exec("DELETE FROM posthouse_user_words WHERE "+clause+" AND tenant = ?", append(args, tenant)...); err != nil {
			return err
		}
	}
	return nil
}

// mostNamesakes bounds how many users are looked at who have one name in common.
const mostNamesakes = 50

// UsersAt are users who have one of some names as an address on any channel, or as the end of their id or name, in whichever case: the caller
// compares.
func (s Users) UsersAt(ctx context.Context, tenant string, names []string) (list []posthouse.User, err error) {
	var low []string
	for _, name := range names {
		if w := word(name); w != "" {
			low = append(low, w)
		}
	}
	if len(low) == 0 {
		return nil, nil
	}
	clause, args := s.db.In("word", low)
	ids, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT DISTINCT user_id FROM posthouse_user_words WHERE "+clause+" AND tenant = ? ORDER BY user_id LIMIT ?", append(args, tenant, mostNamesakes)...)
	if err != nil {
		return nil, s.db.Coded(err, "find users by their addresses")
	}
	found, err := s.Profiles(ctx, tenant, ids)
	for _, id := range ids {
		if u, is := found[id]; is {
			list = append(list, u)
		}
	}
	return list, err
}

// UsersReached are users, without their roles, who have one of some names as an address on any channel, or as the end of their id or name, in
// whichever case: the caller compares. It is one query for hundreds of names.
func (s Users) UsersReached(ctx context.Context, tenant string, names []string) (list []posthouse.User, err error) {
	low := make([]string, 0, len(names))
	for _, name := range names {
		if w := word(name); w != "" {
			low = append(low, w)
		}
	}
	slices.Sort(low)
	found := map[string]bool{}
	for part := range sqldb.Parts(slices.Compact(low), 500) {
		clause, args := s.db.In("word", part)
		some, err := sqldb.All(s.db.Reads(ctx), readUser, "SELECT "+usersTable.List+" FROM posthouse_users WHERE tenant = ? AND id IN (SELECT user_id FROM posthouse_user_words WHERE "+clause+" AND tenant = ?)",
			append(append([]any{tenant}, args...), tenant)...)
		if err != nil {
			return nil, s.db.Coded(err, "find the users who have addresses")
		}
		for _, u := range some {
			if !found[u.ID] {
				found[u.ID] = true
				list = append(list, u)
			}
		}
	}
	return list, nil
}

// FindUsers lists users whose id, address or name, from one of its characters or words on, begins with a text, at most limit of them: those
// whose word is the shortest way from the text come first. It asks for one more word than that, so the caller can tell that there are others.
func (s Users) FindUsers(ctx context.Context, tenant, text string, limit int) ([]posthouse.User, error) {
	low := word(strings.TrimSpace(text))
	if low == "" {
		return nil, nil
	}
	ids, err := sqldb.All(s.db.Reads(ctx), sqldb.Word, "SELECT user_id FROM posthouse_user_words WHERE tenant = ? AND word >= ? AND word < ? ORDER BY word, user_id LIMIT ?",
		tenant, low, low+"\U0010FFFF", 2*limit)
	if err != nil {
		return nil, s.db.Coded(err, "find users")
	}
	var list []posthouse.User
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] || len(list) == limit {
			continue
		}
		seen[id] = true
		u, err := s.User(ctx, tenant, id)
		if posthouse.CodeOf(err) == posthouse.CodeNotFound { // deleted meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
}
