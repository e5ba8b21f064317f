package server

import (
	"errors"
	"fmt"
	"net/netip"

	"latchkey.dev/internal/config"
	"latchkey.dev/internal/db"
	"latchkey.dev/internal/pms"
)

// Validate returns all errors that it finds in a configuration, joined, or nil: those of [config.Config.Validate], and of the settings that
// other packages parse. It opens no file and no connection.
func Validate(cfg config.Config) error {
	_, partners := partnerRules(cfg)
	_, mail := mailRules(cfg)
	var database error
	if err := db.CheckURL(cfg.DatabaseURL()); err != nil {
		database = fmt.Errorf("--database: %w", err)
	}
	return errors.Join(cfg.Validate(), database, partners, mail)
}

// partnerRules returns the rules about the hosts and ports that endpoints of partners may have. It fails if the configuration of these
// rules is invalid.
func partnerRules(cfg config.Config) (*pms.Rules, error) {
	var own []netip.Prefix
	for _, r := range cfg.Partner.Deny {
		prefix, err := netip.ParsePrefix(r)
		if err != nil {
			return nil, fmt.Errorf("--partner-deny %q: want a range such as 203.0.113.0/24", r)
		}
		own = append(own, prefix)
	}
	return pms.NewRules(pms.RulesOptions{Hosts: cfg.Partner.Allow, Ports: cfg.Partner.Ports, OwnRanges: own})
}

// mailRules returns the rules about the hosts and ports that the mail servers of properties may have. It fails if --mail-allow is invalid.
func mailRules(cfg config.Config) (*pms.Rules, error) {
	return pms.NewRules(pms.RulesOptions{Hosts: cfg.Mail.Allow, Ports: mailPorts, Flag: "--mail-allow"})
}
