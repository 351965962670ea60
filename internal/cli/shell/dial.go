package shell

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/config"
)

// Calling gives a command, or all of a group, the flags that say which server it calls, and in which zone its times
// are shown.
func (sh *Shell) Calling(cmd *cobra.Command) *cobra.Command {
	config.AddClientFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().StringVar(&sh.zoneName, "zone", "", "the `ZONE` that times are shown and read in, such as Asia/Shanghai, UTC or Local (default the server's)")
	return cmd
}

// Dial makes the client of a command's server.
func (sh *Shell) Dial(cmd *cobra.Command) (*client.Client, error) {
	c, err := config.LoadClient(sh.Sources(cmd))
	if err != nil {
		return nil, Usagef("%w", err)
	}
	out, err := client.New(client.Options{URL: c.URL, Key: c.Key})
	if err != nil {
		return nil, Usagef("%w", err)
	}
	sh.server = out
	if sh.zoneName != "" {
		if sh.zone, err = time.LoadLocation(sh.zoneName); err != nil {
			return nil, Usagef("--zone: %q is not an IANA time zone such as Asia/Shanghai, UTC or Local", sh.zoneName)
		}
	}
	return out, nil
}

// zoneWait bounds the question which zone the server has.
const zoneWait = 5 * time.Second

// Location is the zone of times: that of --zone, else the server's, else this machine's.
func (sh *Shell) Location() *time.Location {
	if sh.zone != nil {
		return sh.zone
	}
	sh.zone = time.Local
	if sh.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), zoneWait)
		defer cancel()
		if health, err := sh.server.Health(ctx); err == nil && health.TimeZone != "" {
			if zone, err := time.LoadLocation(health.TimeZone); err == nil {
				sh.zone = zone
			}
		}
	}
	return sh.zone
}

// Over makes the RunE of a command that calls the server with its arguments.
func (sh *Shell) Over(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := sh.Dial(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

// DoneWord says what was done to a thing, in a word that Label knows.
func (sh *Shell) DoneWord(name, word string) error {
	return sh.Show(map[string]string{"name": name, "result": word}, func() { sh.Printf("%s: %s\n", name, sh.Label(word)) })
}

// DoneState says which state a thing has come to.
func (sh *Shell) DoneState(name, state string) error {
	return sh.Show(map[string]string{"name": name, "result": state}, func() { sh.Printf("%s: %s\n", name, sh.State(state)) })
}

// Done says what was done to a thing: a format with its values.
func (sh *Shell) Done(name, what string, args ...any) error {
	return sh.Show(map[string]string{"name": name, "result": fmt.Sprintf(what, args...)}, func() { sh.Printf("%s: %s\n", name, sh.Text(what, args...)) })
}
