// Package admin serves the admin API for operators of the installation. It converts between protobuf and domain types.
package admin

import (
	"context"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/property"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/jobs"
	"latchkey.dev/internal/keyring"
	"latchkey.dev/internal/partner"
)

// Deps are the dependencies of the services.
type Deps struct {
	DB        *db.DB
	Answers   *idem.Answers
	Keys      *keyring.Ring
	Validator protovalidate.Validator
	Partners  *partner.Registry
	property.Stays
	// OwnerURL returns the address of a link with which a person becomes owner of a property. If propertyID is "", the link also creates
	// the property.
	OwnerURL func(secret, propertyID string) string
	// Describe returns the state of the installation (all nodes on one database).
	Describe func(ctx context.Context) (*adminv1.Installation, error)
	Jobs     *jobs.Queue
}

// Services are the implementations of the admin API, for gRPC and Connect.
type Services struct {
	Property adminv1.PropertyServiceServer
	App      adminv1.AppServiceServer
	Token    adminv1.TokenServiceServer
	Owner    adminv1.OwnerServiceServer

	Session      adminv1.OperatorSessionServiceServer
	Installation adminv1.InstallationServiceServer
}

// New returns the services of the admin API.
func New(d Deps) *Services {
	return &Services{Property: &properties{Deps: d}, App: &apps{Deps: d}, Token: &tokens{Deps: d}, Owner: &owners{Deps: d},
		Session: &sessions{Deps: d}, Installation: &installation{Deps: d}}
}

// HandlerFields returns the request fields that handlers validate themselves, by full method name: see [chain.Config.HandlerFields].
func HandlerFields() map[string]chain.HandlerField {
	return map[string]chain.HandlerField{
		adminv1.PropertyService_CreateProperty_FullMethodName: chain.NewHandlerField("settings", (*properties).createProperty),
		adminv1.PropertyService_UpdateProperty_FullMethodName: chain.NewHandlerField("settings", (*properties).updateProperty),
	}
}

// requireOperator refuses callers other than operators of the installation.
func requireOperator(ctx context.Context) error {
	if a, ok := actor.From(ctx); !ok || a.Kind != actor.Operator {
		return credential.Refused()
	}
	return nil
}

// now returns the current time of the database's clock.
func (d Deps) now(ctx context.Context) time.Time { return d.DB.View(ctx).Now() }

// tokenMessage converts a token of any kind without its secret. Role and PropertyId are unset for a token that has none.
func tokenMessage(t *credential.Row) *adminv1.Token {
	return &adminv1.Token{
		Id: t.ID, Kind: t.Kind, Name: t.Name, Hint: t.Hint, Role: convert.TextOrNil(t.Role), PropertyId: convert.TextOrNil(t.PropertyID),
		ExpiresAt: convert.OptionalTime(t.ExpiresAt), RevokedAt: convert.OptionalTime(t.RevokedAt), CreatedAt: timestamppb.New(t.CreatedAt),
	}
}

func tokenList(rows []*credential.Row) *adminv1.TokenList {
	list := &adminv1.TokenList{Total: int32(len(rows))}
	for _, row := range rows {
		list.List = append(list.List, tokenMessage(row))
	}
	return list
}
