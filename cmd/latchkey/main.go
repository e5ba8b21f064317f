// Command latchkey is the Latchkey server and its command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	// Embeds time zones, for machines without a time zone database.
	_ "time/tzdata"
)

func main() {
	os.Exit(start(untilSignalled(context.Background()), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// untilSignalled returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. A second SIGINT or SIGTERM ends the process: their
// default handler is restored before the context ends, so that none is lost. SIGHUP is then ignored, because a terminal that closes may
// send two. If the process began with SIGHUP ignored, SIGHUP never has an effect.
func untilSignalled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	stop, hangup := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	// nohup starts a process with SIGHUP ignored. Notify would undo that.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(hangup, syscall.SIGHUP)
	}
	go func() {
		select {
		case <-stop:
		case <-hangup:
		}
		signal.Stop(stop)
		cancel()
	}()
	return ctx
}
