package main

import (
	"context"
	"fmt"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

type appCommands struct {
	remote `embed:""`

	Create appCreate        `cmd:"" help:"Create a partner app and its client token."`
	List   appList          `cmd:"" help:"List partner apps."`
	Token  appTokenCommands `cmd:"" help:"Client tokens of an app."`
}

type appCreate struct {
	Name string `arg:"" help:"The vendor's name."`
}

func (appCreate) Help() string {
	return `Example:
  latchkey app create "Cloud PMS"

Give the client token to the vendor. The vendor sends it with every call, together with the access token of the property (latchkey integration connect).`
}

// Run creates a partner app (a PMS vendor) with a client token, and prints the token, which is shown only this once.
func (c *appCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewAppServiceClient(s.conn).CreateApp(s, &adminv1.CreateAppRequest{Name: c.Name})
		return s.printAnswer(answer, err, func() {
			s.say("Created %s: %s.", answer.GetData().GetId(), answer.GetData().GetName())
			s.printSecret("client token", answer.GetClientToken(), "; give it to the vendor")
			s.printNextSteps("latchkey integration connect " + answer.GetData().GetId())
		})
	})
}

type appList struct{}

// Run lists the partner apps of the installation, and to how many properties each is connected. It is for operators only.
func (*appList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewAppServiceClient(s.conn).ListApps(s, &adminv1.ListAppsRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, a := range answer.GetData().GetList() {
				rows = append(rows, []string{a.GetId(), a.GetName(), fmt.Sprint(a.GetIntegrations()), formatTime(a.GetCreatedAt())})
			}
			s.printTable(`There is no partner app yet. Create one with: latchkey app create "Cloud PMS"`, []string{"id", "name", "properties", "created"}, rows)
		})
	})
}

type appTokenCommands struct {
	List   appTokenList   `cmd:"" help:"List the valid client tokens of an app, without their secrets."`
	Create appTokenCreate `cmd:"" help:"Create another client token."`
	Rotate appTokenRotate `cmd:"" help:"Replace all client tokens by a new one."`
	Revoke appTokenRevoke `cmd:"" help:"Revoke a client token at once."`
}

type appTokenList struct {
	App string `required:"" placeholder:"APP" help:"The app, by name or id."`
}

// Run prints the valid client tokens of a partner app, without their secrets.
func (c *appTokenList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperatorOn(ctx, io, anApp, &c.App, func(s *session) error {
		answer, err := adminv1.NewAppServiceClient(s.conn).ListClientTokens(s, &adminv1.ListClientTokensRequest{AppId: c.App})
		return s.printAnswer(answer, err, func() { s.printTokens(answer.GetData()) })
	})
}

type appTokenCreate struct {
	App  string `required:"" placeholder:"APP" help:"The app, by name or id."`
	Name string `help:"A name for the token."`
}

// Run creates one more client token of a partner app and prints it, which is shown only this once. The other tokens stay valid.
func (c *appTokenCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperatorOn(ctx, io, anApp, &c.App, func(s *session) error {
		answer, err := adminv1.NewAppServiceClient(s.conn).CreateClientToken(s, &adminv1.CreateClientTokenRequest{AppId: c.App, Name: c.Name})
		return s.printAnswer(answer, err, func() { s.printSecret("client token", answer.GetClientToken(), "; give it to the vendor") })
	})
}

type appTokenRotate struct {
	App     string  `required:"" placeholder:"APP" help:"The app, by name or id."`
	Overlap minutes `placeholder:"DURATION" help:"How long the old tokens stay valid, such as 1d, at most 7d. Left out: not at all."`
}

// Help returns what --help adds: an example that gives the vendor a day.
func (appTokenRotate) Help() string {
	return `Example that gives the vendor a day to change the token:
  latchkey app token rotate --app app_... --overlap 1d`
}

// Run replaces all client tokens of a partner app by one and prints it. The old ones end at once, or after --overlap. It fails while too
// many old ones are in their overlap.
func (c *appTokenRotate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperatorOn(ctx, io, anApp, &c.App, func(s *session) error {
		answer, err := adminv1.NewAppServiceClient(s.conn).RotateClientToken(s, &adminv1.RotateClientTokenRequest{AppId: c.App, OverlapMinutes: int32(c.Overlap)})
		return s.printAnswer(answer, err, func() { s.printSecret("client token", answer.GetClientToken(), "; give it to the vendor") })
	})
}

type appTokenRevoke struct {
	App string `required:"" placeholder:"APP" help:"The app, by name or id."`
	ID  string `arg:"" name:"token" help:"The token's name or id (tok_...), not the secret."`
}

// Run revokes one client token of a partner app at once, by its name or id. It is for operators only.
func (c *appTokenRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperatorOn(ctx, io, anApp, &c.App, func(s *session) error {
		tokens := tokenKind("latchkey app token list --app "+c.App, func(s *session) (*adminv1.TokenList, error) {
			answer, err := adminv1.NewAppServiceClient(s.conn).ListClientTokens(s, &adminv1.ListClientTokensRequest{AppId: c.App})
			return answer.GetData(), err
		})
		if err := s.resolve(tokens, &c.ID); err != nil {
			return err
		}
		answer, err := adminv1.NewAppServiceClient(s.conn).RevokeClientToken(s, &adminv1.RevokeClientTokenRequest{AppId: c.App, Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Revoked %s.", c.ID) })
	})
}

// printTokens prints a table of tokens without their secrets.
func (s *session) printTokens(list *adminv1.TokenList) {
	var rows [][]string
	for _, t := range list.GetList() {
		rows = append(rows, []string{t.GetId(), t.GetHint() + "...", dash(t.GetName()), dash(t.GetRole()), formatTime(t.GetExpiresAt()), formatTime(t.GetCreatedAt())})
	}
	s.printTable("There is no valid token.", []string{"id", "begins", "name", "role", "ends", "created"}, rows)
}
