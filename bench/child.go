package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/posthouse/posthouse/bench/peers/asynq"
	"github.com/posthouse/posthouse/bench/peers/backlite"
	"github.com/posthouse/posthouse/bench/peers/posthouse"
	"github.com/posthouse/posthouse/bench/peers/river"
	"github.com/posthouse/posthouse/bench/trial"
)

// trialCommand is the argument by which this program runs one trial: its
// specification is on standard input, its outcome goes to standard output.
const trialCommand = "trial"

// libraries are the queues this program holds.
func libraries() map[string]trial.Open {
	return map[string]trial.Open{
		"posthouse":          posthouse.Open,
		"posthouse-http":     posthouse.OpenHTTP,
		"posthouse-limited":  posthouse.OpenLimited,
		"posthouse-followed": posthouse.OpenFollowed,
		"posthouse-fleet":    posthouse.OpenFleet,
		"river":              river.OpenPostgres,
		"asynq":              asynq.Open,
		"backlite":           backlite.Open,
	}
}

// runTrial runs a trial in a process of its own, this program unless the contender names another.
func runTrial(ctx context.Context, program string, s trial.Spec) (o trial.Outcome, err error) {
	spec, err := json.Marshal(s)
	if err != nil {
		return o, err
	}
	cmd := exec.CommandContext(ctx, program, trialCommand) //nolint:gosec // one of ours
	var answer bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(spec), &answer, os.Stderr
	if err := cmd.Run(); err != nil {
		return o, err
	}
	if err := json.Unmarshal(answer.Bytes(), &o); err != nil {
		return o, fmt.Errorf("read the outcome %q: %w", answer.String(), err)
	}
	return o, nil
}
