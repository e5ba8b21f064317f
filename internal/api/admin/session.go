package admin

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/actor"
	"latchkey.dev/internal/api/chain"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

type sessions struct {
	adminv1.UnimplementedOperatorSessionServiceServer
	Deps
}

// SignInOperator exchanges an operator token for a session of a browser. A first transaction counts the attempt as failed for the client's
// network, so that a wrong token stays counted. After too many failures it refuses each attempt for a while, without counting it. A success
// takes back only its own count.
func (s *sessions) SignInOperator(ctx context.Context, r *adminv1.SignInOperatorRequest) (*adminv1.SignInOperatorResponse, error) {
	network := ""
	if call := chain.From(ctx); call != nil && call.Client.IsValid() {
		network = chain.ClientNetwork(call.Client)
	}
	if err := s.DB.Write(ctx, func(tx *db.Tx) error { return staff.CountOperatorAttempt(tx, s.Keys, network) }); err != nil {
		return nil, err
	}
	var answer *adminv1.SignInOperatorResponse
	err := s.DB.Write(ctx, func(tx *db.Tx) error {
		opened, secret, err := credential.OpenSession(tx, s.Keys, r.GetToken(), r.GetDevice())
		if err != nil {
			return err
		}
		answer = &adminv1.SignInOperatorResponse{Data: sessionMessage(opened, nil), Token: secret}
		return staff.ForgiveOperatorAttempt(tx, s.Keys, network)
	})
	return answer, err
}

// GetOperatorSession returns the session of the call and the operator token that opened it. It succeeds without a session, too: for a call
// with the token itself the answer has only that token, and for a call on the Unix socket it is empty.
func (s *sessions) GetOperatorSession(ctx context.Context, _ *adminv1.GetOperatorSessionRequest) (*adminv1.GetOperatorSessionResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	opened, with, err := credential.LoadSession(s.DB.View(ctx), who)
	if err != nil {
		return nil, err
	}
	return &adminv1.GetOperatorSessionResponse{Data: sessionMessage(opened, with)}, nil
}

// EndOperatorSession ends the session of the call. It fails for a call with an operator token.
func (s *sessions) EndOperatorSession(ctx context.Context, _ *adminv1.EndOperatorSessionRequest) (*adminv1.EndOperatorSessionResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	who, _ := actor.From(ctx)
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.EndOperatorSessionResponse, error) {
		return &adminv1.EndOperatorSessionResponse{}, credential.EndSession(tx, who)
	})
}

// sessionMessage converts an operator's session, and the operator token with which it was opened. Both can be nil. What is nil stays empty
// in the result.
func sessionMessage(opened, with *credential.Row) *adminv1.OperatorSession {
	out := &adminv1.OperatorSession{}
	if with != nil {
		out.OperatorToken = tokenMessage(with)
	}
	if opened != nil {
		out.Id, out.Device = convert.TextOrNil(opened.ID), opened.Name
		out.EndsAt, out.CreatedAt = timestamppb.New(credential.SessionEnd(opened)), timestamppb.New(opened.CreatedAt)
	}
	return out
}
