package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"
)

const description = `Latchkey turns reservations of property management systems into doors that open.

On the server's machine, commands use the Unix socket in the data directory and need no token. From another machine: latchkey help connection.

The steps to a door that opens: property create, space create, bridge create, lock assign, app create, integration connect, mapping suggest. Each command prints the next step.`

// commands is the command line: all commands and their flags.
type commands struct {
	Serve   serveCommand   `cmd:"" group:"server" help:"Run the server."`
	Demo    demoCommand    `cmd:"" group:"server" help:"Try Latchkey: server, PMS, bridge and virtual locks in one program."`
	Migrate migrateCommand `cmd:"" group:"server" help:"Update the database to the schema of this version."`
	Backup  backupCommand  `cmd:"" group:"server" help:"Copy the embedded database, also while the server runs."`
	Restore restoreCommand `cmd:"" group:"server" help:"Restore the embedded database from a backup."`
	Health  healthCommand  `cmd:"" group:"server" help:"Check whether the server on this machine is ready."`
	Key     keyCommands    `cmd:"" group:"server" help:"The key-encryption key."`
	Bench   benchCommands  `cmd:"" group:"server" help:"Measure this program on this machine."`

	Property    propertyCommands    `cmd:"" group:"property" help:"Properties: the hotels and hostels of this installation."`
	Space       spaceCommands       `cmd:"" group:"property" help:"Rooms, dorms and beds."`
	Gate        gateCommands        `cmd:"" group:"property" help:"Doors of common areas."`
	Bridge      bridgeCommands      `cmd:"" group:"property" help:"Agents on site that drive locks."`
	Lock        lockCommands        `cmd:"" group:"property" help:"Locks, their doors and their state."`
	Reservation reservationCommands `cmd:"" aliases:"reservations" group:"property" help:"Reservations, and why their doors open or do not."`
	Code        codeCommands        `cmd:"" group:"property" help:"Staff codes, one-time codes and backup codes."`
	Arrivals    arrivalsCommand     `cmd:"" group:"property" help:"List the arrivals of a day, and what to fix before the guests arrive."`
	TestStay    testStayCommands    `cmd:"" name:"test-stay" group:"property" help:"A test arrival: the guest's link, the check-in, the code and the door, without the PMS."`
	Today       todayCommand        `cmd:"" group:"property" help:"List who arrives, who is in house and who leaves on a day."`
	Checkin     checkInCommands     `cmd:"" group:"property" help:"Self check-in: its rules, and the check-ins of guests."`
	Kiosk       kioskCommands       `cmd:"" group:"property" help:"Check-in tablets."`
	Mail        mailCommands        `cmd:"" group:"property" help:"Mails to guests and staff, and the mail server."`
	Guest       guestCommands       `cmd:"" aliases:"guests" group:"property" help:"The data of guests: erase them, or make a copy."`
	Message     messageCommands     `cmd:"" aliases:"messages" group:"property" help:"Messages between guests and staff."`
	People      peopleCommands      `cmd:"" group:"property" help:"The people who work at a property: their roles, and invitations."`
	Audit       auditCommands       `cmd:"" group:"property" help:"Who changed or saw what, and whether the log is intact."`
	Notice      noticeCommands      `cmd:"" group:"property" help:"Notices: what needs a person's attention."`
	Watch       watchCommand        `cmd:"" group:"property" help:"Print what changes at a property, as it changes."`
	App         appCommands         `cmd:"" group:"partners" help:"Partner apps: vendors of property management systems."`
	Integration integrationCommands `cmd:"" group:"partners" help:"Partner apps connected to a property, and their access tokens."`
	Endpoint    endpointCommands    `cmd:"" group:"partners" help:"Endpoints of partners, and whether calls to them succeed."`
	Mapping     mappingCommands     `cmd:"" group:"partners" help:"Map the partner's rooms to rooms of the property."`
	APIKey      apiKeyCommands      `cmd:"" name:"api-key" group:"partners" help:"The credential for a property's own scripts."`
	Token       tokenCommands       `cmd:"" group:"operators" help:"Tokens for the staff of a property."`
	Admin       adminCommands       `cmd:"" group:"operators" help:"Operators' tokens, the state of the server and failed jobs."`

	Help    helpCommand      `cmd:"" group:"server" help:"Help on a command, or on how commands reach a server (help connection)."`
	Version kong.VersionFlag `help:"Print the version."`
}

// groups is the order of the command groups in --help.
var groups = kong.ExplicitGroups([]kong.Group{
	{Key: "server", Title: "The server"},
	{Key: "property", Title: "A property and its doors"},
	{Key: "partners", Title: "Partners and their systems"},
	{Key: "operators", Title: "Credentials of people"},
	{Key: "connection", Title: "Flags of most commands:"},
	{Key: "serve-data", Title: "Data and keys"},
	{Key: "serve-listen", Title: "Addresses and TLS"},
	{Key: "serve-nodes", Title: "Several nodes (with --database=postgres://...)"},
	{Key: "serve-partners", Title: "Partners"},
	{Key: "serve-staff", Title: "Sign-in of staff"},
	{Key: "serve-running", Title: "Running"},
})

// streams are the input and output of a command.
type streams struct {
	in        io.Reader
	out, errs io.Writer // out and errs escape control characters
	raw       io.Writer // raw is out without escaping, for bytes that are not text, and for start, which escapes itself; --json prints to out
	width     int       // width of the terminal in characters; 0: out is not a terminal, so that no line is wrapped
}

// commandOf returns the name of the command that the user typed wrongly, followed by a space, or "" if none was chosen. err is the error of
// the parser.
func commandOf(err error) string {
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Command() != "" {
		if path := commandPath(wrong.Context); path != "" {
			return path + " "
		}
	}
	return ""
}

// refuseEmptyLists refuses a list flag with an empty value, such as an unset variable in a script, because without values the command would
// apply to everything.
func refuseEmptyLists(c *kong.Context) error {
	for _, p := range c.Path {
		if p.Flag != nil && p.Flag.IsSlice() && p.Flag.Target.Len() == 0 {
			return fmt.Errorf("--%s is empty: give a value, or leave the flag out", p.Flag.Name)
		}
	}
	return nil
}

// commandPath returns the name of the chosen command, such as "lock list", or "" if none was chosen.
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
