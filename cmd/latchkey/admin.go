package main

import (
	"cmp"
	"context"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

type adminCommands struct {
	remote `embed:""`

	Token     operatorTokenCommands `cmd:"" help:"Tokens of operators, for commands from another machine."`
	OwnerLink ownerLinkCreate       `cmd:"" help:"Create the link with which a person becomes owner of a property."`
	Status    adminStatus           `cmd:"" help:"Show versions, nodes, database, bus, jobs and the last backup."`
	Job       jobCommands           `cmd:"" help:"Failed background jobs."`
}

type operatorTokenCommands struct {
	Create operatorTokenCreate `cmd:"" help:"Create an operator's token."`
	List   operatorTokenList   `cmd:"" help:"List the valid operators' tokens."`
	Revoke operatorTokenRevoke `cmd:"" help:"Revoke an operator's token at once."`
}

type operatorTokenCreate struct {
	Name string   `arg:"" help:"Who or what uses the token."`
	TTL  lifetime `name:"ttl" placeholder:"DURATION" help:"The token expires after this time, such as 30d, at most 366d. Left out: never."`
}

// Help returns what --help adds: an example of how to create a token and use it on another machine.
func (operatorTokenCreate) Help() string {
	return `Example, first on the server's machine, then on another:
  latchkey admin token create "Ana's laptop" --ttl 30d
  LATCHKEY_SERVER=latchkey.example:7070 LATCHKEY_TOKEN=lko_... latchkey property list`
}

// Run creates and prints an operator's token, which allows everything on this server.
func (c *operatorTokenCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewTokenServiceClient(s.conn).CreateOperatorToken(s, &adminv1.CreateOperatorTokenRequest{Name: c.Name, TtlMinutes: int32(c.TTL)})
		return s.printAnswer(answer, err, func() {
			s.say("Created %s for %s.", answer.GetData().GetId(), c.Name)
			s.printSecret("token", answer.GetToken(), "; it may do everything on this server")
		})
	})
}

type operatorTokenList struct{}

// Run prints the valid operators' tokens, without their secrets.
func (*operatorTokenList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		answer, err := adminv1.NewTokenServiceClient(s.conn).ListOperatorTokens(s, &adminv1.ListOperatorTokensRequest{})
		return s.printAnswer(answer, err, func() { s.printTokens(answer.GetData()) })
	})
}

type operatorTokenRevoke struct {
	ID string `arg:"" name:"token" help:"The token's name or id (tok_...), not the secret."`
}

// Run revokes an operator's token at once, by its name or id.
func (c *operatorTokenRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		tokens := tokenKind("latchkey admin token list", func(s *session) (*adminv1.TokenList, error) {
			answer, err := adminv1.NewTokenServiceClient(s.conn).ListOperatorTokens(s, &adminv1.ListOperatorTokensRequest{})
			return answer.GetData(), err
		})
		if err := s.resolve(tokens, &c.ID); err != nil {
			return err
		}
		answer, err := adminv1.NewTokenServiceClient(s.conn).RevokeOperatorToken(s, &adminv1.RevokeOperatorTokenRequest{Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Revoked %s.", c.ID) })
	})
}

type ownerLinkCreate struct {
	ID string `arg:"" optional:"" name:"property" help:"The property's name or id (prp_...). Left out: that of --property; without both, the owner creates a property."`
}

// Help returns what --help adds: how long the link works, and examples.
func (ownerLinkCreate) Help() string {
	return `The link works once, within 24 hours, and ends the earlier ones for the same property. Examples:
  latchkey admin owner-link
  latchkey admin owner-link "Hostel Miramar"`
}

// Run prints a link with which a person becomes owner of a property. The link works once, within 24 hours, and ends earlier ones for the
// same property. If an operator's token created it, it ends with the token. Without a property, the owner creates one.
func (c *ownerLinkCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		c.ID = cmp.Or(c.ID, r.Property)
		if c.ID != "" {
			if err := s.resolve(aProperty, &c.ID); err != nil {
				return err
			}
		}
		answer, err := adminv1.NewOwnerServiceClient(s.conn).CreateOwnerLink(s, &adminv1.CreateOwnerLinkRequest{PropertyId: c.ID})
		return s.printAnswer(answer, err, func() {
			s.printSecret("link", answer.GetData().GetUrl(), "; the person who opens it becomes owner; works once, until "+formatTime(answer.GetData().GetEndsAt()))
		})
	})
}
