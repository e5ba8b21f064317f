package admin

import (
	"context"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	propertyapi "latchkey.dev/internal/api/property"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/property"
)

type tokens struct {
	adminv1.UnimplementedTokenServiceServer
	Deps
}

// CreateOperatorToken creates a token for an operator. Without ttlMinutes, it never expires. Only this answer has the token. It fails while
// there are too many valid operator tokens.
func (s *tokens) CreateOperatorToken(ctx context.Context, r *adminv1.CreateOperatorTokenRequest) (*adminv1.CreateOperatorTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	if err := propertyapi.RequireName("name", r.GetName()); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateOperatorTokenResponse, error) {
		row, secret, err := credential.CreateOperatorToken(tx, s.Keys, r.GetName(), convert.Minutes(r.GetTtlMinutes()))
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateOperatorTokenResponse{Data: tokenMessage(row), Token: secret}, nil
	})
}

// ListOperatorTokens lists the valid operator tokens, without their secrets.
func (s *tokens) ListOperatorTokens(ctx context.Context, _ *adminv1.ListOperatorTokensRequest) (*adminv1.ListOperatorTokensResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, err := credential.OperatorTokens(s.DB.View(ctx), s.now(ctx))
	if err != nil {
		return nil, err
	}
	return &adminv1.ListOperatorTokensResponse{Data: tokenList(rows)}, nil
}

// RevokeOperatorToken revokes an operator token, and so ends the sessions that were opened with it. It is no error if the token has ended.
func (s *tokens) RevokeOperatorToken(ctx context.Context, r *adminv1.RevokeOperatorTokenRequest) (*adminv1.RevokeOperatorTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.RevokeOperatorTokenResponse, error) {
		row, err := credential.RevokeOperatorToken(tx, r.GetId())
		if err != nil {
			return nil, err
		}
		return &adminv1.RevokeOperatorTokenResponse{Data: tokenMessage(row)}, nil
	})
}

// CreateStaffToken creates a token with a role at a property, for its staff or scripts. Without ttlMinutes, it never expires. It fails
// while the property has too many valid ones. Only this answer has the token. With the name actor.SessionName it is a token for one command
// of the operator: see createStaffToken.
func (s *tokens) CreateStaffToken(ctx context.Context, r *adminv1.CreateStaffTokenRequest) (*adminv1.CreateStaffTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	if err := propertyapi.CheckOptionalName("name", r.GetName()); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateStaffTokenResponse, error) {
		row, secret, err := s.createStaffToken(tx, r)
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateStaffTokenResponse{Data: tokenMessage(row), Token: secret}, nil
	})
}

// createStaffToken creates a staff token and returns it with its secret. A request with the name actor.SessionName gets a token for one
// command of the operator; it must have ttlMinutes of at most an hour.
func (s *tokens) createStaffToken(tx *db.Tx, r *adminv1.CreateStaffTokenRequest) (*credential.Row, string, error) {
	if r.GetName() == actor.SessionName {
		who, _ := actor.From(tx.Context())
		return credential.CreateCommandToken(tx, s.Keys, r.GetPropertyId(), who.Author(), r.GetRole(), convert.Minutes(r.GetTtlMinutes()))
	}
	return credential.CreateStaffToken(tx, s.Keys, r.GetPropertyId(), r.GetName(), r.GetRole(), convert.Minutes(r.GetTtlMinutes()))
}

// ListStaffTokens lists the valid staff tokens of a property, without their secrets. It fails for an unknown property.
func (s *tokens) ListStaffTokens(ctx context.Context, r *adminv1.ListStaffTokensRequest) (*adminv1.ListStaffTokensResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	if _, err := property.Get(s.DB.View(ctx), r.GetPropertyId()); err != nil {
		return nil, err
	}
	rows, err := credential.StaffTokens(s.DB.View(ctx), r.GetPropertyId(), s.now(ctx))
	if err != nil {
		return nil, err
	}
	return &adminv1.ListStaffTokensResponse{Data: tokenList(rows)}, nil
}

// RevokeStaffToken revokes a staff token of a property. It is no error if the token has ended already.
func (s *tokens) RevokeStaffToken(ctx context.Context, r *adminv1.RevokeStaffTokenRequest) (*adminv1.RevokeStaffTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.RevokeStaffTokenResponse, error) {
		row, err := credential.RevokeStaffToken(tx, r.GetPropertyId(), r.GetId())
		if err != nil {
			return nil, err
		}
		return &adminv1.RevokeStaffTokenResponse{Data: tokenMessage(row)}, nil
	})
}
