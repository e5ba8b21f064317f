package main

import (
	"cmp"
	"context"
	"errors"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
)

type tokenCommands struct {
	remote `embed:""`

	Create tokenCreate `cmd:"" help:"Create a token for a person or a script of a property."`
	List   tokenList   `cmd:"" help:"List the valid staff tokens of a property."`
	Revoke tokenRevoke `cmd:"" help:"Revoke a staff token at once."`
}

type tokenCreate struct {
	Word string   `arg:"" optional:"" name:"token" help:"Who or what uses the token, as with --name."`
	Role string   `enum:"viewer,operator,owner" default:"operator" help:"viewer: read only. operator: also change spaces, mappings and locks. owner: also change settings and credentials."`
	Name string   `help:"Who or what uses the token."`
	TTL  lifetime `name:"ttl" placeholder:"DURATION" help:"The token expires after this time, such as 30d, at most 366d. Left out: never."`
}

func (tokenCreate) Help() string {
	return `Example:
  latchkey token create "Dashboard in the office" --role viewer --ttl 30d`
}

// Run creates and prints a staff token of the property. Only an operator can do so.
func (c *tokenCreate) Run(ctx context.Context, r *remote, io *streams) error {
	if c.Word != "" && c.Name != "" {
		return usageError{errors.New("name the token, or use --name, not both")}
	}
	return r.asOperator(ctx, io, func(s *session) error {
		property, err := s.resolveProperty()
		if err != nil {
			return err
		}
		answer, err := adminv1.NewTokenServiceClient(s.conn).CreateStaffToken(s, &adminv1.CreateStaffTokenRequest{
			PropertyId: property, Name: cmp.Or(c.Word, c.Name), Role: c.Role, TtlMinutes: int32(c.TTL),
		})
		return s.printAnswer(answer, err, func() {
			s.say("Created %s, %s of %s.", answer.GetData().GetId(), c.Role, property)
			s.printSecret("token", answer.GetToken(), "")
		})
	})
}

type tokenList struct{}

// Run prints the valid staff tokens of the property, without their secrets. Only an operator can do so.
func (*tokenList) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		property, err := s.resolveProperty()
		if err != nil {
			return err
		}
		answer, err := adminv1.NewTokenServiceClient(s.conn).ListStaffTokens(s, &adminv1.ListStaffTokensRequest{PropertyId: property})
		return s.printAnswer(answer, err, func() { s.printTokens(answer.GetData()) })
	})
}

type tokenRevoke struct {
	ID string `arg:"" name:"token" help:"The token's name or id (tok_...), not the secret."`
}

// Run revokes a staff token of the property, by its name or id. Only an operator can do so.
func (c *tokenRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asOperator(ctx, io, func(s *session) error {
		property, err := s.resolveProperty()
		if err != nil {
			return err
		}
		tokens := tokenKind("latchkey token list", func(s *session) (*adminv1.TokenList, error) {
			answer, err := adminv1.NewTokenServiceClient(s.conn).ListStaffTokens(s, &adminv1.ListStaffTokensRequest{PropertyId: property})
			return answer.GetData(), err
		})
		if err := s.resolve(tokens, &c.ID); err != nil {
			return err
		}
		answer, err := adminv1.NewTokenServiceClient(s.conn).RevokeStaffToken(s, &adminv1.RevokeStaffTokenRequest{PropertyId: property, Id: c.ID})
		return s.printAnswer(answer, err, func() { s.say("Revoked %s.", c.ID) })
	})
}
