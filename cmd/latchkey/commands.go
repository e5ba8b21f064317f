package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

const description = `Latchkey turns reservations of property management systems into doors that open.

On the machine that runs the server, commands speak to it over the Unix socket in its data directory and need no token. From elsewhere: latchkey help connection.

The way from nothing to an open door: property create, space create, bridge create, lock assign, app create, integration connect, mapping suggest. Each command says what comes next.`

// commands are all commands, each in a file of its own.
type commands struct {
	Serve   serveCommand   `cmd:"" group:"server" help:"Run the server."`
	Demo    demoCommand    `cmd:"" group:"server" help:"A whole property to play with: server, PMS, bridge and virtual locks."`
	Migrate migrateCommand `cmd:"" group:"server" help:"Bring a database to the schema of this version."`
	Backup  backupCommand  `cmd:"" group:"server" help:"Copy the embedded database, also while the server runs."`
	Restore restoreCommand `cmd:"" group:"server" help:"Put a copy that backup made in the place of the embedded database."`
	Health  healthCommand  `cmd:"" group:"server" help:"Whether the server on this machine is ready, and why not."`
	Key     keyCommands    `cmd:"" group:"server" help:"The key that everything secret is sealed under."`
	Bench   benchCommands  `cmd:"" group:"server" help:"Measure this program on this machine."`

	Property    propertyCommands    `cmd:"" group:"house" help:"Properties: the hotels and hostels of this installation."`
	Space       spaceCommands       `cmd:"" group:"house" help:"Rooms, dorms and beds."`
	Gate        gateCommands        `cmd:"" group:"house" help:"Doors of common areas."`
	Bridge      bridgeCommands      `cmd:"" group:"house" help:"Agents on site that drive locks."`
	Lock        lockCommands        `cmd:"" group:"house" help:"Locks, their doors and their state."`
	Reservation reservationCommands `cmd:"" aliases:"reservations" group:"house" help:"Reservations, and why their doors open or do not."`
	Code        codeCommands        `cmd:"" group:"house" help:"Codes of staff and housekeeping, for one use, and backup codes."`
	Arrivals    arrivalsCommand     `cmd:"" group:"house" help:"Who arrives, and what to fix before."`
	Notice      noticeCommands      `cmd:"" group:"house" help:"What needs a person's attention."`
	App         appCommands         `cmd:"" group:"partners" help:"Partner apps: vendors of property management systems."`
	Integration integrationCommands `cmd:"" group:"partners" help:"Partner apps connected to a property, and their access tokens."`
	Endpoint    endpointCommands    `cmd:"" group:"partners" help:"Where partners are called, and how that goes."`
	Mapping     mappingCommands     `cmd:"" group:"partners" help:"Which partner's room is which of ours."`
	APIKey      apiKeyCommands      `cmd:"" name:"api-key" group:"partners" help:"The credential of a property's own scripts."`
	Token       tokenCommands       `cmd:"" group:"operators" help:"Tokens for the staff of a property."`
	Admin       adminCommands       `cmd:"" group:"operators" help:"Tokens for operators."`

	Help    helpCommand      `cmd:"" group:"server" help:"Help on a command, or on how commands reach a server (help connection)."`
	Version kong.VersionFlag `help:"Print the version."`
}

// groups order the commands in --help.
var groups = kong.ExplicitGroups([]kong.Group{
	{Key: "server", Title: "The server"},
	{Key: "house", Title: "A property and its doors"},
	{Key: "partners", Title: "Partners and their systems"},
	{Key: "operators", Title: "Credentials of people"},
	{Key: "connection", Title: "Flags of most commands:"},
	{Key: "serve-data", Title: "Data and keys"},
	{Key: "serve-listen", Title: "Addresses and TLS"},
	{Key: "serve-nodes", Title: "Several nodes (with --database=postgres://...)"},
	{Key: "serve-partners", Title: "Partners"},
	{Key: "serve-running", Title: "Running"},
})

// streams are what a command reads and writes.
type streams struct {
	in        io.Reader
	out, errs io.Writer // they escape what controls a terminal
	raw       io.Writer // out without escaping, for programs
	width     int       // of the terminal; 0: out is no terminal
}

// commandOf is the command that a command line was about when it went wrong, followed by a
// blank.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Command() != "" {
		if path := commandPath(wrong.Context); path != "" {
			return path + " "
		}
	}
	return ""
}

// filled refuses a list that was given and is empty, as an empty variable of a script makes it: left out, it would mean all.
func filled(c *kong.Context) error {
	for _, p := range c.Path {
		if p.Flag != nil && p.Flag.IsSlice() && p.Flag.Target.Len() == 0 {
			return fmt.Errorf("--%s names nothing; leave it out if that is meant", p.Flag.Name)
		}
	}
	return nil
}

func commandPath(c *kong.Context) string {
	path := ""
	for _, p := range c.Path {
		if p.Command == nil {
			continue
		}
		if path != "" {
			path += " "
		}
		path += p.Command.Name
	}
	return path
}
