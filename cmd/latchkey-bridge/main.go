// Command latchkey-bridge is the software of a bridge, which connects a property's locks to the server.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(start(os.Args[1:]))
}

// exitCode returns the exit code for one of kong: 2 for a wrong command line, as for latchkey.
func exitCode(kong int) int {
	if kong == 80 {
		return 2
	}
	return kong
}

// start runs one command line and returns the exit code: 1 if it failed, otherwise 0. It ends the process itself, with code 2, if the
// command line is wrong, and with 0 after --help and --version.
func start(args []string) int {
	var c commands
	parser, err := kong.New(&c, kong.Name("latchkey-bridge"), kong.Vars{"version": version},
		kong.Description("The on-site agent between locks and Latchkey."), kong.ShortUsageOnError(),
		kong.Exit(func(code int) { os.Exit(exitCode(code)) }))
	if err != nil {
		slog.Error("command line", "error", err)
		return 1
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		parser.FatalIfErrorf(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: c.LogLevel}))
	chosen.BindTo(ctx, (*context.Context)(nil))
	if err := chosen.Run(&c, log); err != nil {
		if chosen.Command() == "run" {
			log.Error("the bridge stopped", "error", err)
		} else {
			fmt.Fprintln(os.Stderr, "latchkey-bridge:", err)
		}
		return 1
	}
	return 0
}
