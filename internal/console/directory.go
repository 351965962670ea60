package console

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/wire"
)

// book is what the page of the directory shows.
type book struct {
	Asked    string // a part of an id or name, or an address
	Role     string
	Lacks    string // a channel in which people have no address
	Channels []string
	List     []posthouse.User
	Next     string
	Import   bool
	CSV      string
	Prune    bool
	Look     *wire.UsersReplaced
	Problems []posthouse.Problem
}

// The directory has no index but by id: a filter looks through parts of it, until a page is full or mostLeafed parts are done.
const (
	leaf       = 200
	mostLeafed = mostLooked * directoryPage / leaf
)

// noAddress asks for people who have no address in any channel.
const noAddress = "*"

func showDirectory(v *visit) error {
	b := book{Asked: v.query("q"), Role: v.query("role"), Lacks: v.query("lacks")}
	if err := b.read(v); err != nil {
		return err
	}
	return v.show("directory", "directory", &b)
}

// read fills in a page of users, and the channels to choose from.
func (b *book) read(v *visit) error {
	channels, err := v.call().Channels.List(v.ctx())
	if err != nil {
		return err
	}
	for _, c := range channels {
		b.Channels = append(b.Channels, c.Name)
	}
	size, cursor := leaf, v.query("cursor")
	if !b.Filtered() {
		size = 4 * pageLength
	}
	for range mostLeafed {
		page, err := v.call().Users.List(v.ctx(), client.Filter{Cursor: cursor, Limit: size})
		if err != nil {
			return err
		}
		for _, u := range page.Items {
			if b.wants(u) {
				b.List = append(b.List, u)
			}
		}
		if cursor = page.Next; cursor == "" || len(b.List) >= 4*pageLength || !b.Filtered() {
			break
		}
	}
	if cursor != "" {
		q := v.r.URL.Query()
		q.Set("cursor", cursor)
		b.Next = "?" + q.Encode()
	}
	return nil
}

// Filtered reports whether not everybody is asked for.
func (b *book) Filtered() bool { return b.Asked+b.Role+b.Lacks != "" }

// wants reports whether a filter selects a user.
func (b *book) wants(u posthouse.User) bool {
	switch {
	case b.Asked != "" && !strings.Contains(strings.ToLower(u.ID), strings.ToLower(b.Asked)) && !fits(u, b.Asked):
		return false
	case b.Role != "" && !slices.Contains(u.Roles, b.Role):
		return false
	case b.Lacks == noAddress:
		return len(u.Addresses) == 0
	}
	return b.Lacks == "" || u.Addresses[b.Lacks] == ""
}

// Reached are the channels in which a user has an address, in order.
func (b *book) Reached(u posthouse.User) []string { return slices.Sorted(maps.Keys(u.Addresses)) }

// importDirectory shows what a CSV would change, and stores it when it is confirmed.
func importDirectory(v *visit) error {
	b := book{Import: true, CSV: v.form("csv"), Prune: v.form("prune") != ""}
	if file, _, err := v.r.FormFile("file"); err == nil {
		defer file.Close()
		if text, err := io.ReadAll(file); err == nil && len(text) > 0 {
			b.CSV = string(text)
		}
	}
	if b.CSV == "" {
		b.Problems = problemAt("file", say("book_no_file", v.zh))
		return b.again(v)
	}
	would, err := v.call().Users.ReplaceFrom(v.ctx(), true, []byte(b.CSV))
	var coded *posthouse.Error
	if errors.As(err, &coded) && coded.Code == posthouse.CodeInvalid {
		b.Problems = coded.Problems
		if len(b.Problems) == 0 {
			b.Problems = problemAt("file", coded.Message)
		}
		return b.again(v)
	}
	if err != nil {
		return err
	}
	b.Look = would.Replaced
	if v.form("sure") == "" {
		return b.again(v)
	}
	if v.form("confirm") != b.Confirm() {
		return posthouse.Errorf(posthouse.CodeConflict, "the directory was changed by somebody else")
	}
	if b.Prune {
		_, err = v.call().Users.ReplaceFrom(withNote(v.ctx(), v.form("note")), false, []byte(b.CSV))
	} else {
		_, err = v.call().Users.Import(withNote(v.ctx(), v.form("note")), []byte(b.CSV))
	}
	if err != nil {
		return err
	}
	return v.goTo(v.at("directory") + "?said=stored")
}

// again draws the page with the file as it was sent.
func (b *book) again(v *visit) error {
	if err := b.read(v); err != nil {
		return err
	}
	status := http.StatusOK
	if len(b.Problems) > 0 {
		status = http.StatusUnprocessableEntity
	}
	return v.draw(status, "directory", "directory", b)
}

// Confirm says what a look has shown: what would change otherwise by now is not stored.
func (b *book) Confirm() string {
	confirm := fmt.Sprint(len(b.Look.Added), " ", len(b.Look.Changed), " ", b.Look.Unchanged)
	if b.Prune {
		confirm += fmt.Sprint(" ", len(b.Look.Removed))
	}
	return confirm
}

// Nothing reports whether all would stay as it is.
func (b *book) Nothing() bool {
	return len(b.Look.Added)+len(b.Look.Changed) == 0 && !(b.Prune && len(b.Look.Removed) > 0)
}

// mostNamed bounds how many ids a look names.
const mostNamed = 50

// Named are the ids that the look has room for.
func (b *book) Named(ids []string) []string { return ids[:min(len(ids), mostNamed)] }

// bookWords are the texts of the page of the directory.
func bookWords() map[string]word {
	return map[string]word{
		"directory":         {"Directory", "通讯录"},
		"book_search":       {"Part of an id or name, or an address", "编号或姓名的一部分，或完整地址"},
		"book_user":         {"User", "用户"},
		"book_name":         {"Name", "姓名"},
		"book_type":         {"Type", "类型"},
		"book_role":         {"Role", "角色"},
		"book_addresses":    {"Reached at", "联系地址"},
		"book_lacks":        {"Without an address in", "缺少地址的渠道"},
		"book_lacks_all":    {"any channel", "所有渠道都没有"},
		"book_none":         {"no address", "没有地址"},
		"book_none_help":    {"Without an address a channel reaches the user by the id, where its provider knows it.", "没有地址时，渠道按用户编号发送（前提是平台认识该编号）。"},
		"book_empty":        {"The directory is empty.", "通讯录是空的。"},
		"book_none_found":   {"Nobody was found.", "没有找到。"},
		"book_more":         {"The search has not come to the end of the directory:", "通讯录尚未找完："},
		"book_import":       {"Import CSV", "导入 CSV"},
		"book_import_help":  {"The columns are id, name, type, roles (with ; between them), and one for each channel, which holds the address there. Users who are there already are replaced.", "列：id、name、type、roles（多个用 ; 分隔），另为每个渠道加一列，填写该渠道的地址。已有的用户会被替换。"},
		"book_prune":        {"Delete everybody who is not in the file", "删除文件中没有的用户"},
		"book_no_file":      {"choose a file, or paste its text", "请选择文件，或粘贴内容"},
		"book_added":        {"New", "新增"},
		"book_changed":      {"Changed", "有变化"},
		"book_removed":      {"Deleted", "将删除"},
		"book_kept":         {"Stay as they are", "不变"},
		"book_import_alert": {"It counts at once for messages that are handed in from now on. What is replaced is gone.", "保存后立即对之后受理的消息生效；被替换的内容无法找回。"},
	}
}
