package server

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files that is read again when one of them changes. A pair that cannot be used then, such as
// one of which only the first file is written yet, leaves the old one in use.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	stamp  stamp
	looked time.Time
}

// stamp tells one state of the two files from another.
type stamp struct {
	cert, key         time.Time
	certSize, keySize int64
}

// certificateEvery is the time between two looks at the files.
const certificateEvery = time.Second

// secured is what listeners serve TLS by, nil without. setting is what comes before the names of the two settings.
func secured(setting, cert, key string, log *slog.Logger) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, fmt.Errorf("TLS needs a certificate and its key: give %[1]stls_cert and %[1]stls_key, or neither", setting)
	}
	c := &certificate{cert: cert, key: key, log: log}
	if err := c.load(time.Now()); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

// get is the certificate as it now is.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateEvery {
		if err := c.load(now); err != nil {
			c.log.Error("the certificate has changed and cannot be used: the old one stays in use", "error", err)
		}
	}
	return c.pair, nil
}

// load reads the files if they have changed. A state that could not be used is not tried again.
func (c *certificate) load(now time.Time) error {
	c.looked = now
	at, err := c.stamps()
	if err != nil || at == c.stamp {
		return err
	}
	c.stamp = at
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("read the certificate %s and its key %s: %w", c.cert, c.key, err)
	}
	if c.pair != nil {
		c.log.Info("the certificate was read again", "file", c.cert)
	}
	c.pair = &pair
	return nil
}

func (c *certificate) stamps() (stamp, error) {
	cert, err := os.Stat(c.cert)
	if err != nil {
		return stamp{}, fmt.Errorf("look at the certificate: %w", err)
	}
	key, err := os.Stat(c.key)
	if err != nil {
		return stamp{}, fmt.Errorf("look at the certificate's key: %w", err)
	}
	return stamp{cert.ModTime(), key.ModTime(), cert.Size(), key.Size()}, nil
}
