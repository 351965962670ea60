package people

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// cost is what a hash costs: the least that OWASP's Password Storage Cheat Sheet asks of argon2id.
type cost struct {
	memory uint32 // KiB
	passes uint32
	lanes  uint8
}

func usualCost() cost { return cost{memory: 19 << 10, passes: 2, lanes: 1} }

const (
	saltBytes = 16
	sumBytes  = 32
	// atOnce bounds the hashes that are made at once: each takes 19 MiB and a core for some 20 ms.
	atOnce = 2
)

// hasher hashes passwords with argon2id, a few at a time.
type hasher struct {
	cost  cost
	slots chan struct{}
	empty string // the hash of a password that no person has
}

func newHasher() *hasher {
	h := &hasher{cost: usualCost(), slots: make(chan struct{}, atOnce)}
	h.empty = format(h.cost, make([]byte, saltBytes), make([]byte, sumBytes))
	return h
}

// hash is how a password is kept, in the PHC string format.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	sum, err := h.sum(ctx, password, salt, h.cost)
	return format(h.cost, salt, sum), err
}

// fits reports whether a password is the one of a hash. An empty hash fits none, and takes as long.
func (h *hasher) fits(ctx context.Context, hash, password string) (bool, error) {
	if hash == "" {
		hash = h.empty
	}
	c, salt, want, err := parse(hash)
	if err != nil {
		return false, err
	}
	if len(password) > maxPassword {
		return false, nil
	}
	got, err := h.sum(ctx, password, salt, c)
	return err == nil && hash != h.empty && subtle.ConstantTimeCompare(got, want) == 1, err
}

func (h *hasher) sum(ctx context.Context, password string, salt []byte, c cost) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-h.slots }()
	return argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, sumBytes), nil
}

func format(c cost, salt, sum []byte) string {
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.passes, c.lanes, b.EncodeToString(salt), b.EncodeToString(sum))
}

// maxMemory bounds what a stored hash may ask for, in KiB.
const maxMemory = 1 << 20

func parse(hash string) (c cost, salt, sum []byte, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return c, nil, nil, errors.New("a stored password is hashed in a way that is not known")
	}
	_, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes)
	if err == nil {
		salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	}
	if err == nil {
		sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	if err != nil || c.memory > maxMemory || c.passes == 0 || c.lanes == 0 || len(sum) != sumBytes {
		return c, nil, nil, fmt.Errorf("a stored password cannot be read: %w", cmpErr(err))
	}
	return c, salt, sum, nil
}

// cmpErr is the error, or that a number is out of its bounds.
func cmpErr(err error) error {
	if err != nil {
		return err
	}
	return errors.New("its costs are out of bounds")
}
