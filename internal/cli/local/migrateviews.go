package local

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/config"
	"github.com/posthouse/posthouse/internal/store"
	"github.com/posthouse/posthouse/internal/store/schema"
)

func migrateViews(sh *shell.Shell) *cobra.Command {
	var named string
	var none, here bool
	cmd := &cobra.Command{
		Use: "views", Short: "Say where the views with other systems' table names stand, or list them",
		Long: `Say where the views with other systems' table names stand (message_send_log, tc_notify_job, sms_tasks …).
They are for reports that read those tables; Posthouse reads none of them. Without a flag the command lists
them and what keeps any from being there. A schema (on MariaDB: a database) must be there already.`,
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, change := named, cmd.Flags().Changed("schema") || none || here
			if none {
				place = schema.ViewsNone
			}
			if cmd.Flags().Changed("schema") && named == "" {
				return shell.Usagef("--schema is empty: name a schema, or say --here")
			}
			to := looks
			if change {
				to = changes
			}
			return withStore(sh, cmd, to, func(ctx context.Context, sh *shell.Shell, s *store.Store) error {
				return runViews(ctx, sh, s, place, change)
			})
		},
	}
	cmd.Flags().StringVar(&named, "schema", "", "make them in the `SCHEMA`")
	cmd.Flags().BoolVar(&none, "none", false, "leave them out")
	cmd.Flags().BoolVar(&here, "here", false, "make them beside the tables: the default")
	cmd.MarkFlagsMutuallyExclusive("schema", "none", "here")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}

func runViews(ctx context.Context, sh *shell.Shell, s *store.Store, place string, change bool) error {
	look := s.Schema.DocumentViews
	if change {
		look = func(ctx context.Context) ([]schema.DocumentView, error) { return s.Schema.PlaceViews(ctx, place) }
	}
	views, err := look(ctx)
	if err != nil {
		return fmt.Errorf("the views: %w", err)
	}
	return sh.Show(map[string]any{"views": views}, func() {
		if len(views) == 0 {
			sh.Printf("the views are left out\n")
			return
		}
		rows := make([][]string, len(views))
		for i, v := range views {
			rows[i] = []string{v.Name, v.Schema, v.Problem}
		}
		sh.Table([]string{"View", "Schema", "Missing because"}, rows)
	})
}

func migrateDown(sh *shell.Shell) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "down", Short: "Remove every table and view of Posthouse from the database, with all that is stored in them",
		Args: shell.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !yes {
				return shell.Hint(shell.Usagef("down deletes every message, channel and key; nothing was changed"), "stop all servers, and say --yes if that is meant")
			}
			return withStore(sh, cmd, changes, func(ctx context.Context, sh *shell.Shell, s *store.Store) error {
				if err := s.Schema.MigrateDown(ctx); err != nil {
					return fmt.Errorf("remove the schema: %w", err)
				}
				return sh.Show(map[string]any{"database": s.DB.Database(), "removed": true}, func() {
					sh.Printf("removed everything of Posthouse from the %s database\n", s.DB.Database())
				})
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")
	config.AddFlags(cmd.Flags(), "dsn", "log_level", "log_format")
	return cmd
}
