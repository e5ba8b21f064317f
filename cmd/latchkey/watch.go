package main

import (
	"context"
	"strings"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type watchCommand struct {
	remote `embed:""`

	Topics []string `arg:"" optional:"" enum:"reservations,spaces,locks,bridges,notices,messages,kiosks" help:"What to watch: reservations, spaces, locks, bridges, notices, messages or kiosks. Left out: all."`
	Resume string   `placeholder:"TOKEN" help:"The resumeToken of the last message of an earlier stream: print only what changed since."`
}

// Help returns what --help adds: what the lines mean, and examples.
func (watchCommand) Help() string {
	return `Prints the ids of what changes at a property, as it changes, until Ctrl+C. "all" means that everything of the topic may have changed; the first lines say so. Examples:
  latchkey watch
  latchkey watch locks bridges
  latchkey watch reservations --json`
}

// Run prints the topic and ids of what changes at a property, as it changes, until the user interrupts it or the server closes the stream
// without an error. A stop of the server is an error.
func (c *watchCommand) Run(ctx context.Context, io *streams) error {
	return c.asStaff(ctx, io, func(s *session) error {
		stream, err := propertyv1.NewEventServiceClient(s.conn).Watch(ctx, &propertyv1.WatchRequest{Topics: c.Topics, ResumeToken: c.Resume})
		if err != nil {
			return err
		}
		for {
			answer, err := stream.Recv()
			switch {
			case ended(ctx, err):
				return nil
			case err != nil:
				return err
			}
			err = s.printAnswer(answer, nil, func() {
				for _, change := range answer.GetChanges() {
					what := strings.Join(change.GetIds(), " ")
					if change.GetEverything() {
						what = "all"
					}
					s.say("%-14s%s", change.GetTopic(), what)
				}
			})
			if err != nil {
				return err
			}
		}
	})
}
