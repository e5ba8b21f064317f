package server

import (
	"context"
	"fmt"

	"latchkey.dev/internal/db"
	"latchkey.dev/internal/staff"
	staffpages "latchkey.dev/internal/web/staff"
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
	return s.PublicURL() + staffpages.InvitationPath + secret
}

// identityURL returns the address of the page to which the identity provider redirects people after the sign-in there.
func (s *Server) identityURL() string { return s.PublicURL() + staffpages.IdentityPath }

// HasPerson reports whether the installation has a person, also a disabled one.
func (s *Server) HasPerson(ctx context.Context) (bool, error) { return staff.AnyPerson(s.db.View(ctx)) }

// NewOwnerURL makes a link, which works once and for a day, and returns its address. With it, a person creates a property and becomes its
// owner. It ends earlier such links.
func (s *Server) NewOwnerURL(ctx context.Context) (string, error) {
	var made staff.OwnerLink
	err := s.db.Write(ctx, func(tx *db.Tx) (err error) {
		made, err = staff.CreateOwnerLink(tx, s.keys, "", "serve", staff.Trace{})
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make the link of the first owner: %w", err)
	}
	return s.ownerURL(made.Secret, ""), nil
}
