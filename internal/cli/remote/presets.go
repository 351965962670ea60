package remote

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/client"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/preset"
	"github.com/posthouse/posthouse/wire"
)

func presetGroup(sh *shell.Shell) *cobra.Command {
	return sh.Calling(shell.Group("preset", "What is known of providers, for channels to be made of",
		presetList(sh), presetShow(sh), presetDiff(sh), presetTest(sh), presetAdd(sh), presetDelete(sh)))
}

func presetList(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "list [WORD...]", Short: "List the presets, or those in which all words stand", Args: cobra.ArbitraryArgs,
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			list, err := c.Presets.List(ctx, strings.Join(args, " "))
			if err != nil {
				return err
			}
			return sh.Show(list, func() {
				var rows [][]string
				for _, p := range list {
					var asks []string
					for _, f := range p.Fields {
						asks = append(asks, f.Name)
					}
					rows = append(rows, []string{p.Name, string(p.Group), p.Title, p.TitleZH, strings.Join(asks, ", ")})
				}
				sh.Table([]string{"Preset", "Group", "Provider", "", "Asks for"}, rows)
			})
		}),
	}
}

func presetShow(sh *shell.Shell) *cobra.Command {
	var file, shapes bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show what a preset asks for, and what is known of its provider", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			p, err := c.Presets.Get(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(p, func() {
				switch {
				case file:
					printFile(sh, p.Text)
				case shapes:
					printFile(sh, p.Shapes)
				default:
					printPreset(sh, p)
				}
			})
		}),
	}
	cmd.Flags().BoolVar(&file, "file", false, "print the preset as it is written, to begin one of your own with")
	cmd.Flags().BoolVar(&shapes, "shapes", false, "print its recorded requests and answers as they are written")
	return cmd
}

func printPreset(sh *shell.Shell, p wire.Preset) {
	sh.Printf("%s, version %d: %s\n%s\n\n", p.Name, p.Version, sh.Either(p.Title, p.TitleZH), sh.Either(p.Doc, p.DocZH))
	rows := [][]string{}
	for _, f := range p.Fields {
		flag := "--field"
		if f.Secret {
			flag = "--secret"
		}
		must := sh.Text("required")
		if !f.Required {
			must = f.Default
		}
		rows = append(rows, []string{flag + " " + f.Name, sh.Either(f.Label, f.LabelZH), must, f.Example, sh.Either(f.Help, f.HelpZH)})
	}
	sh.Table([]string{"Field", "What it is", "Default", "Such as", "Help"}, rows)
	list := func(title string, lines, chinese []string) {
		if len(chinese) == len(lines) {
			lines = slices.Clone(lines)
			for i := range lines {
				lines[i] = sh.Either(lines[i], chinese[i])
			}
		}
		for i, line := range lines {
			if i == 0 {
				sh.Printf("\n%s:\n", sh.Label(title))
			}
			sh.Printf("  %s\n", line)
		}
	}
	var limits []string
	for _, l := range p.Limits {
		certain := ""
		if l.Unverified {
			certain = sh.Text(", not verified")
		}
		limits = append(limits, sh.Text("%d each %s of the %s (%s, %s%s)", l.Max, l.Per, l.Of, l.Source, l.Date, certain))
	}
	list("Limits", limits, nil)
	list("Notes", p.Notes, p.NotesZH)
	list("Not verified", p.Unverified, p.UnverifiedZH)
	list("Pages", p.Links, nil)
	sh.Printf("\nIts shapes: %d documented, %d from its SDK or source, %d not verified.\n", p.Evidence.Documented, p.Evidence.SDK, p.Evidence.Unverified)
}

func presetDiff(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "diff CHANNEL", Short: "Show what the latest version of its preset would change of a channel; nothing changes",
		Long: `Show what the latest version of its preset would change of a channel. Nothing changes by itself: channel set CHANNEL --preset NAME takes
the latest version, and keeps the values and secrets that the channel has.`, Args: shell.Takes("CHANNEL"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			state, err := c.Presets.Of(ctx, args[0])
			if err != nil {
				return err
			}
			return sh.Show(state, func() {
				switch {
				case state.Preset == "":
					sh.Printf("%s was made of no preset\n", args[0])
					return
				case state.Latest == 0:
					sh.Printf("%s was made of %s, version %d, which is no more\n", args[0], state.Preset, state.Version)
					return
				}
				sh.Printf("%s was made of %s, version %d; the latest is %d\n", args[0], state.Preset, state.Version, state.Latest)
				for _, d := range state.Changes {
					sh.Printf("\n%s\n", d.Field)
					for _, side := range []struct{ mark, text string }{{"-", d.Was}, {"+", d.Is}} {
						for line := range strings.Lines(side.text) {
							sh.Printf("%s %s\n", side.mark, strings.TrimSuffix(line, "\n"))
						}
					}
				}
			})
		}),
	}
}

// printFile prints a file as it is, but for what a terminal would obey.
func printFile(sh *shell.Shell, text string) {
	for line := range strings.Lines(text) {
		sh.Printf("%s\n", strings.TrimSuffix(line, "\n"))
	}
}

func presetTest(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "test FILE", Short: "Try a preset of your own over its shapes; no server and no provider is called",
		Long: `Try a preset of your own over its shapes: FILE is NAME.yaml, and NAME.shapes stands beside it. It must send what was recorded, and read each answer
as its shape says. No server and no provider is called.`, Example: "  posthouse preset test my-gateway.yaml", Args: shell.Takes("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := readPreset(sh, args[0])
			if err != nil {
				return err
			}
			p, err := preset.Parse(file.Text, file.Shapes)
			if err != nil {
				return err
			}
			problems := p.Try()
			err = sh.Show(problems, func() {
				for _, one := range problems {
					sh.Printf("%s: %s\n", one.Path, one.Message)
				}
				if len(problems) == 0 {
					sh.Printf("%s, version %d: %d shapes hold\n", p.Name, p.Version, len(p.Shapes.List))
				}
			})
			if err == nil && len(problems) > 0 {
				err = fmt.Errorf("%d of what the shapes say does not hold", len(problems))
			}
			return err
		},
	}
}

// readPreset reads a preset, and the shapes beside it.
func readPreset(sh *shell.Shell, path string) (file wire.PresetFile, err error) {
	text, err := sh.ReadFile(path)
	if err != nil {
		return file, err
	}
	shapes, err := sh.ReadFile(strings.TrimSuffix(path, filepath.Ext(path)) + ".shapes")
	if err != nil {
		err = shell.Hint(err, "the recorded requests and answers of a preset stand beside it: posthouse preset show telegram --shapes prints some")
	}
	return wire.PresetFile{Text: string(text), Shapes: string(shapes)}, err
}

func presetAdd(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "add FILE", Short: "Add a preset of your own to the server, or a new version of it",
		Long: `Add a preset of your own to the server, or a new version of it: FILE is NAME.yaml, and NAME.shapes stands beside it. It must do what its shapes say. Channels that
were made of an older version stay as they are; preset diff shows what would change.`, Example: "  posthouse preset add my-gateway.yaml", Args: shell.Takes("FILE"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			file, err := readPreset(sh, args[0])
			if err != nil {
				return err
			}
			name := strings.TrimSuffix(filepath.Base(args[0]), filepath.Ext(args[0]))
			stored, err := c.Presets.Put(ctx, name, file)
			if err != nil {
				return err
			}
			return sh.Show(stored, func() { sh.Printf("%s: version %d is there\n", stored.Name, stored.Version) })
		}),
	}
}

func presetDelete(sh *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a preset of your own; channels that were made of it stay as they are", Args: shell.Takes("NAME"),
		RunE: sh.Over(func(ctx context.Context, c *client.Client, args []string) error {
			if err := c.Presets.Delete(ctx, args[0]); err != nil {
				return err
			}
			return sh.Done(args[0], "deleted")
		}),
	}
}
