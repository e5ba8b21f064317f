package admin

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	adminv1 "latchkey.dev/gen/latchkey/admin/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/api/idem"
	"latchkey.dev/internal/api/property"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
)

type apps struct {
	adminv1.UnimplementedAppServiceServer
	Deps
}

// CreateApp creates an app (a PMS vendor) and its first client token. Only this answer has the token. It fails if an app has the name.
func (s *apps) CreateApp(ctx context.Context, r *adminv1.CreateAppRequest) (*adminv1.CreateAppResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	if err := property.RequireName("name", r.GetName()); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateAppResponse, error) {
		row, secret, err := s.Partners.CreateApp(tx, r.GetName())
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateAppResponse{Data: appMessage(row, 0), ClientToken: secret}, nil
	})
}

// ListApps lists the apps by name, each with the number of properties that have connected and not disabled it.
func (s *apps) ListApps(ctx context.Context, _ *adminv1.ListAppsRequest) (*adminv1.ListAppsResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, err := partner.Apps(s.DB.View(ctx))
	if err != nil {
		return nil, err
	}
	connected, err := partner.Connected(s.DB.View(ctx))
	if err != nil {
		return nil, err
	}
	list := &adminv1.AppList{Total: int32(len(rows))}
	for _, row := range rows {
		list.List = append(list.List, appMessage(row, connected[row.ID]))
	}
	return &adminv1.ListAppsResponse{Data: list}, nil
}

// ListClientTokens lists the valid client tokens of an app, oldest first and without their secrets.
func (s *apps) ListClientTokens(ctx context.Context, r *adminv1.ListClientTokensRequest) (*adminv1.ListClientTokensResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	rows, err := partner.ClientTokens(s.DB.View(ctx), r.GetAppId(), s.now(ctx))
	if err != nil {
		return nil, err
	}
	return &adminv1.ListClientTokensResponse{Data: tokenList(rows)}, nil
}

// CreateClientToken creates a further client token of an app. The other tokens stay valid; with too many of them it fails. Only this answer
// has the token.
func (s *apps) CreateClientToken(ctx context.Context, r *adminv1.CreateClientTokenRequest) (*adminv1.CreateClientTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	if err := property.CheckOptionalName("name", r.GetName()); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.CreateClientTokenResponse, error) {
		row, secret, err := s.Partners.CreateClientToken(tx, r.GetAppId(), r.GetName())
		if err != nil {
			return nil, err
		}
		return &adminv1.CreateClientTokenResponse{Data: tokenMessage(row), ClientToken: secret}, nil
	})
}

// RotateClientToken creates a client token of an app. The other client tokens of the app expire after the overlap, or at once without one.
// It fails while too many of them have not ended. Only this answer has the token.
func (s *apps) RotateClientToken(ctx context.Context, r *adminv1.RotateClientTokenRequest) (*adminv1.RotateClientTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.RotateClientTokenResponse, error) {
		row, secret, err := s.Partners.RotateClientToken(tx, r.GetAppId(), convert.Minutes(r.GetOverlapMinutes()))
		if err != nil {
			return nil, err
		}
		return &adminv1.RotateClientTokenResponse{Data: tokenMessage(row), ClientToken: secret}, nil
	})
}

// RevokeClientToken revokes one client token of an app at once. It is no error if the token has ended already.
func (s *apps) RevokeClientToken(ctx context.Context, r *adminv1.RevokeClientTokenRequest) (*adminv1.RevokeClientTokenResponse, error) {
	if err := requireOperator(ctx); err != nil {
		return nil, err
	}
	return idem.Write(ctx, s.Answers, func(tx *db.Tx) (*adminv1.RevokeClientTokenResponse, error) {
		row, err := s.Partners.RevokeClientToken(tx, r.GetAppId(), r.GetId())
		if err != nil {
			return nil, err
		}
		return &adminv1.RevokeClientTokenResponse{Data: tokenMessage(row)}, nil
	})
}

// appMessage converts an app. connected is the number of properties that have connected and not disabled it.
func appMessage(a *partner.AppRow, connected int) *adminv1.App {
	return &adminv1.App{Id: a.ID, Name: a.Name, Integrations: int32(connected), CreatedAt: timestamppb.New(a.CreatedAt)}
}
