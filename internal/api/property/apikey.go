package property

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
	"latchkey.dev/internal/api/convert"
	"latchkey.dev/internal/credential"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/partner"
)

type apiKeys struct {
	propertyv1.UnimplementedApiKeyServiceServer
	Deps
}

// GetApiKey returns the newest valid key of the property's own scripts, and replaced ones in their overlap, without the secrets. It fails
// if there is none.
func (s *apiKeys) GetApiKey(ctx context.Context, _ *propertyv1.GetApiKeyRequest) (*propertyv1.GetApiKeyResponse, error) {
	propertyID, err := callerProperty(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := partner.APIKeys(s.DB.View(ctx), propertyID, s.now(ctx))
	if err != nil {
		return nil, err
	}
	answer := &propertyv1.GetApiKeyResponse{Data: tokenMessage(rows[0])}
	for _, row := range rows[1:] {
		answer.Former = append(answer.Former, tokenMessage(row))
	}
	return answer, nil
}

// CreateApiKey creates the key of the property's own scripts. It fails if there is a valid one. Only this answer has the key.
func (s *apiKeys) CreateApiKey(ctx context.Context, _ *propertyv1.CreateApiKeyRequest) (*propertyv1.CreateApiKeyResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.CreateApiKeyResponse, error) {
		row, secret, err := s.Partners.CreateAPIKey(tx, propertyID)
		if err != nil {
			return nil, err
		}
		return &propertyv1.CreateApiKeyResponse{Data: tokenMessage(row), ApiKey: secret}, nil
	})
}

// RotateApiKey creates a new key for the property's own scripts, also the first. Previous ones expire after the overlap, or at once without
// one. It fails while too many of them have not ended. Only this answer has the key.
func (s *apiKeys) RotateApiKey(ctx context.Context, r *propertyv1.RotateApiKeyRequest) (*propertyv1.RotateApiKeyResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RotateApiKeyResponse, error) {
		row, secret, err := s.Partners.RotateAPIKey(tx, propertyID, convert.Minutes(r.GetOverlapMinutes()))
		if err != nil {
			return nil, err
		}
		return &propertyv1.RotateApiKeyResponse{Data: tokenMessage(row), ApiKey: secret}, nil
	})
}

// RevokeApiKey revokes all valid keys of the property's own scripts at once. It fails if there is none.
func (s *apiKeys) RevokeApiKey(ctx context.Context, _ *propertyv1.RevokeApiKeyRequest) (*propertyv1.RevokeApiKeyResponse, error) {
	return writeAsStaff(ctx, s.Deps, func(tx *db.Tx, propertyID string) (*propertyv1.RevokeApiKeyResponse, error) {
		return &propertyv1.RevokeApiKeyResponse{}, s.Partners.RevokeAPIKey(tx, propertyID)
	})
}

// tokenMessage converts a token without its secret.
func tokenMessage(t *credential.Row) *propertyv1.Token {
	return &propertyv1.Token{Id: t.ID, Name: t.Name, Hint: t.Hint, ExpiresAt: convert.OptionalTime(t.ExpiresAt), CreatedAt: timestamppb.New(t.CreatedAt)}
}
