package server

import (
	"context"
	"fmt"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
)

// ownerURL returns the address of the page on which a person becomes owner of a property. secret is the token in the link. If propertyID is
// "", the person creates a new property there.
func (s *Server) ownerURL(secret, propertyID string) string {
	address := s.PublicURL() + "/app/first/" + secret
	if propertyID == "" {
		address += "?new"
	}
	return address
}

// invitationURL returns the address of the page on which an invited person joins a property. secret is the token of the invitation.
func (s *Server) invitationURL(secret string) string {
	return s.PublicURL() + staff.InvitationPath + secret
}

// FirstOwnerURL makes a link and returns its address, at which the first person becomes owner of a new property. It ends earlier such
// links. It returns "" if a person exists already. It is called at each start of the server.
func (s *Server) FirstOwnerURL(ctx context.Context) (string, error) {
	some, err := staff.AnyPerson(s.db.View(ctx))
	if err != nil || some {
		return "", err
	}
	var made staff.OwnerLink
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		made, err = staff.CreateOwnerLink(tx, s.keys, "", "serve", staff.Trace{})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make the link of the first owner: %w", err)
	}
	return s.ownerURL(made.Secret, ""), nil
}
