package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/posthouse/posthouse"
	"github.com/posthouse/posthouse/internal/campaign"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/verify"
)

// closedSets are the words that a flag takes, for the user's shell to complete: by the flag's name, or by the command and the
// flag where a name means several things. Flags that take true or false need no line.
func closedSets() map[string][]string {
	forms := []string{"csv", "ndjson"}
	sets := map[string][]string{
		"log-level": {"debug", "info", "warn", "error"}, "log-format": {"json", "text"}, "after-promotion": {"wait", "new-epoch"}, "sms-pending-format": {"list", "page"},
		"format": forms, "form": {"csv", "ndjson", "json", "limits"}, "encoding": {"utf-8", "gbk"},
		"protocol": {"native", "sms"}, "lang": {"en", "zh"}, "missed": {"collapse", "expire"},
		"profile": {"default", "duty", "flow", "wecom"}, "limit-by": {"recipients", "calls"}, "sticky": {"conversation"}, "language": {"en", "zh"},
		"scope": {string(posthouse.ScopeRead), string(posthouse.ScopeSend), string(posthouse.ScopeAdmin), string(posthouse.ScopeAgent)}, "grant": {string(posthouse.GrantMentionAll), string(posthouse.GrantCritical)},
		"state": words(posthouse.States()), "on-unknown": words(posthouse.Policies()), "priority": words(posthouse.Priorities()),
		"in": words(posthouse.CampaignStates()), "outcome": campaign.Outcomes(), "status": {"waiting", "success", "failed", "cancelled", "aborted"},
		"sometimes":                         {"all", "none"},
		"posthouse notification list state": {"waiting", "told", "acknowledged", "not_told"},
		"posthouse digest gathered state":   words(posthouse.CollectionStates()),
		"posthouse job enqueue channel":     {"oa", "dingtalk"}, "posthouse front add format": {"text", "markdown"}, "posthouse front add each": {"group", "alert"},
	}
	for _, s := range verify.SometimesList() {
		sets["sometimes"] = append(sets["sometimes"], s.Name)
	}
	return sets
}

func words[T ~string](list []T) (out []string) {
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// completing has the user's shell complete the flags of closed sets, of a command and all below.
func completing(cmd *cobra.Command, sets map[string][]string) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		words := sets[cmd.CommandPath()+" "+f.Name]
		if words == nil {
			words = sets[f.Name]
		}
		if placeholder, _ := pflag.UnquoteUsage(f); placeholder == "BOOL" {
			words = []string{"true", "false"}
		}
		if words == nil {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return shell.Matching(slices.Clone(words), typed), cobra.ShellCompDirectiveNoFileComp
		}) // fails for one that completes what the server has
	})
	for _, below := range cmd.Commands() {
		completing(below, sets)
	}
}
