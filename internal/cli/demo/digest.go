package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/client"
)

// The demo's digest: so many alerts for one group become one post.
const (
	digestName   = "alerts"
	digestAlerts = 20
	digestGroup  = "storage-group"
)

// startDigest hands in alerts of one kind, of which the last fills the collection.
func startDigest(ctx context.Context, c *client.Client) error {
	_, err := c.Digests.Put(ctx, posthouse.Digest{Name: digestName, Window: posthouse.Duration(time.Minute), Max: digestAlerts})
	if err != nil {
		return fmt.Errorf("store a digest: %w", err)
	}
	list := make([]posthouse.Draft, digestAlerts)
	for i := range list {
		list[i] = posthouse.Draft{
			Channel: "robot", Digest: digestName, Kind: "disk", Source: "posthouse demo", To: []posthouse.Recipient{{User: digestGroup}},
			Content: &posthouse.Content{Title: fmt.Sprintf("disk-%02d", i+1), Text: "磁盘使用率 95%"},
		}
	}
	if _, err = c.Messages.Send(ctx, list...); err != nil {
		return fmt.Errorf("send by a digest: %w", err)
	}
	return nil
}

// awaitDigest waits until the post is settled, or patience ends.
func awaitDigest(ctx context.Context, c *client.Client) (of posthouse.Collection, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		page, err := c.Collections.List(waiting, "", client.Filter{Limit: 1})
		if err == nil && len(page.Items) > 0 {
			if of = page.Items[0]; of.State == posthouse.CollectionSettled {
				return of, nil
			}
		}
		select {
		case <-tick.C:
		case <-waiting.Done():
			return of, posthouse.Errorf(posthouse.CodeUnavailable, "the digest is %s after %s", of.State, patience)
		}
	}
}
