// Package remote has the commands that call a server through package client: what is sent and
// what became of it, and everything an operator configures. A command is a value with its flags,
// one file a kind of thing.
//
// The commands that work on a database, or are a process of their own, are package local's.
package remote

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/campaign"
	"github.com/posthouse/posthouse/internal/cli/roster"
	"github.com/posthouse/posthouse/internal/cli/shell"
	"github.com/posthouse/posthouse/internal/cli/suppression"
)

// Commands are the commands in the order that the help shows them.
func Commands(sh *shell.Shell) []*cobra.Command {
	return completing(sh, []*cobra.Command{
		sendCommand(sh), remindGroup(sh), statusCommand(sh), storyCommand(sh), explainCommand(sh), notificationGroup(sh), revealCommand(sh), proofCommand(sh),
		cancelCommand(sh), recallCommand(sh), replayCommand(sh), resolveCommand(sh), decisionsGroup(sh),
		campaign.Group(sh), campaign.Lists(sh), suppression.Group(sh),
		channelGroup(sh), presetGroup(sh), frontGroup(sh), agentsGroup(sh), templateGroup(sh), routeGroup(sh), digestGroup(sh), roster.Group(sh), userGroup(sh),
		taskGroup(sh), jobGroup(sh), workflowGroup(sh), keyGroup(sh), peopleGroup(sh), tenantGroup(sh), outboxGroup(sh), auditGroup(sh),
	})
}
