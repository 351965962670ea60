package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
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
var libraries = map[string]func(ctx context.Context, dsn string) (trial.Queue, error){
	"posthouse":         posthouse.Open,
	"posthouse-http":    posthouse.OpenHTTP,
	"posthouse-limited": posthouse.OpenLimited,
	"river":             river.OpenPostgres,
	"asynq":             asynq.Open,
	"backlite":          backlite.Open,
}

func child(ctx context.Context, in io.Reader, out io.Writer) error {
	var s trial.Spec
	if err := json.NewDecoder(in).Decode(&s); err != nil {
		return fmt.Errorf("read the trial: %w", err)
	}
	open, ok := libraries[s.Library]
	if !ok {
		return fmt.Errorf("there is no library %q", s.Library)
	}
	q, err := open(ctx, s.DSN)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.Library, err)
	}
	o, err := trial.Run(ctx, s, q)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(o)
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
