// Package local has the commands that are a process of their own, such as the server and the
// simulator, and those that work on a database without a server: migrate, doctor, events, verify,
// archive, backup, restore and import.
//
// It holds no behaviour of the house itself: serve starts package server.
package local

import (
	"github.com/spf13/cobra"

	"github.com/posthouse/posthouse/internal/cli/shell"
)

// Processes are the commands that run until they are stopped.
func Processes(sh *shell.Shell) []*cobra.Command {
	return []*cobra.Command{serveCommand(sh), demoCommand(sh), simulateCommand(sh)}
}

// Tools are the commands that work on a database.
func Tools(sh *shell.Shell) []*cobra.Command {
	return []*cobra.Command{
		eventsCommand(sh), verifyCommand(sh), chainCommand(sh), archiveCommand(sh), migrateCommand(sh), placeCommand(sh), backupCommand(sh), restoreCommand(sh), importGroup(sh), doctorCommand(sh), healthyCommand(sh), versionCommand(sh),
	}
}
