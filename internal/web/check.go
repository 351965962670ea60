package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/posthouse/posthouse/internal/draft"
)

// maxTag bounds the name of a time zone and the tag of a language, in bytes.
const maxTag = 64

// CheckWord checks a text of one line that every database keeps as it is.
func (c *Call) CheckWord(path, value string, most int) {
	if strings.ContainsAny(value, "\r\n") {
		c.Refuse(path, "holds a line break: one line is allowed")
	}
	c.CheckText(path, value, most)
}

// CheckKind checks a kind that messages are compared with. Spaces at its ends would make it none that a message has.
func (c *Call) CheckKind(path, kind string) {
	c.CheckWord(path, kind, MaxName)
	if strings.TrimSpace(kind) != kind {
		c.Refuse(path, "is %.80q: spaces at its ends are not allowed", kind)
	}
}

// CheckZone checks the name of a time zone. The machine's own is none: each process may have another.
func (c *Call) CheckZone(path, name string) {
	if name == "" {
		return
	}
	if _, err := time.LoadLocation(name); err != nil || name == "Local" || len(name) > maxTag {
		c.Refuse(path, "is %.80q, which is not an IANA time zone such as Asia/Shanghai", name)
	}
}

// CheckLanguage checks the tag of a language (BCP 47), and writes it as everything else has it: zh_cn becomes zh-CN.
func (c *Call) CheckLanguage(path string, tag *string) {
	if *tag == "" {
		return
	}
	read, err := language.Parse(*tag)
	if err != nil || read == language.Und || len(*tag) > maxTag {
		c.Refuse(path, "is %.80q, which is not a language tag such as zh, en or zh-Hant", *tag)
		return
	}
	*tag = read.String()
}

// CheckOnce refuses the first name of a list that stands before it too: it was meant to be another.
func (c *Call) CheckOnce(path string, names []string) {
	for i, name := range names {
		if slices.Index(names, name) < i {
			c.RefuseNew(fmt.Sprintf("%s[%d]", path, i), "is %.80q, which stands here twice", name)
			return
		}
	}
}

// CheckText checks a text that every database keeps as it is.
func (c *Call) CheckText(path, value string, most int) {
	if len(value) > most {
		c.Refuse(path, "has %d bytes: at most %d are allowed", len(value), most)
	} else if odd := unkept(value); odd != "" {
		c.Refuse(path, "%s", odd)
	}
}

// unkept says what keeps the first such text from being stored or looked up in every database, "" for nothing.
func unkept(texts ...string) string {
	for _, text := range texts {
		if odd := draft.Unkept(text); odd != "" {
			return odd
		}
	}
	return ""
}

// MaxName bounds the names of things that are named in a path, in bytes.
const MaxName = 128

// CheckName checks the name of a thing that a path names.
func (c *Call) CheckName(path, name string) {
	if name == "" {
		c.Refuse(path, "is required")
	}
	c.CheckWord(path, name, MaxName)
	if strings.ContainsAny(name, "/\\?#%") || strings.TrimSpace(name) != name {
		c.Refuse(path, "is %.80q: /, \\, ?, #, %% and spaces at the ends are not allowed in a name", name)
	}
}

// NameIn takes a thing's name from the path; one in the body must be the same, and so must its tenant.
func (c *Call) NameIn(name *string, tenant string) {
	inPath := c.PathValue("name")
	if *name != "" && *name != inPath {
		c.Refuse("name", "is %.80q, but the path says %.80q", *name, inPath)
	}
	c.CheckTenant("tenant", tenant)
	*name = inPath
}

// CheckTenant refuses a tenant that is not the caller's.
func (c *Call) CheckTenant(path, tenant string) {
	if tenant != "" && tenant != c.Key.Tenant {
		c.Refuse(path, "is not the key's: leave it out")
	}
}
