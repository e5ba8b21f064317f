package main

import (
	"context"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

type apiKeyCommands struct {
	remote `embed:""`

	Create apiKeyCreate `cmd:"" help:"Create the api-key of a property. It can read all of the property."`
	Show   apiKeyShow   `cmd:"" help:"Show the api-key, and a replaced one that still works, without the secrets."`
	Rotate apiKeyRotate `cmd:"" help:"Replace the api-key by a new one."`
	Revoke apiKeyRevoke `cmd:"" help:"Revoke the api-key at once."`
}

type apiKeyCreate struct{}

// Run creates and prints the api-key of a property. It fails if the property has a valid one.
func (*apiKeyCreate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewApiKeyServiceClient(s.conn).CreateApiKey(s, &propertyv1.CreateApiKeyRequest{})
		return s.printAnswer(answer, err, func() { s.printSecret("api-key", answer.GetApiKey(), "; scripts send it in the header api-key") })
	})
}

type apiKeyShow struct{}

// Run prints the api-key of a property, and a replaced one that still works, without their secrets. It fails if there is none.
func (*apiKeyShow) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewApiKeyServiceClient(s.conn).GetApiKey(s, &propertyv1.GetApiKeyRequest{})
		return s.printAnswer(answer, err, func() {
			var rows [][]string
			for _, t := range append([]*propertyv1.Token{answer.GetData()}, answer.GetFormer()...) {
				rows = append(rows, []string{t.GetId(), t.GetHint() + "...", formatTime(t.GetExpiresAt()), formatTime(t.GetCreatedAt())})
			}
			s.printTable("", []string{"id", "begins", "ends", "created"}, rows)
		})
	})
}

type apiKeyRotate struct {
	Overlap minutes `placeholder:"DURATION" help:"How long the old key stays valid, such as 1d, at most 7d. Left out: not at all."`
}

// Run replaces the api-key of a property, or creates the first, and prints the new one. The old key ends at once, or after --overlap. Run
// fails while too many old keys are in their overlap.
func (c *apiKeyRotate) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewApiKeyServiceClient(s.conn).RotateApiKey(s, &propertyv1.RotateApiKeyRequest{OverlapMinutes: int32(c.Overlap)})
		return s.printAnswer(answer, err, func() { s.printSecret("api-key", answer.GetApiKey(), "; scripts send it in the header api-key") })
	})
}

type apiKeyRevoke struct{}

// Run revokes the api-key of a property at once, also a replaced one that still works. It fails if there is none.
func (*apiKeyRevoke) Run(ctx context.Context, r *remote, io *streams) error {
	return r.asStaff(ctx, io, func(s *session) error {
		answer, err := propertyv1.NewApiKeyServiceClient(s.conn).RevokeApiKey(s, &propertyv1.RevokeApiKeyRequest{})
		return s.printAnswer(answer, err, func() { s.say("Revoked the api-key.") })
	})
}
