// Package ent is the generated client of the models in ent/schema. Everything in
// it but the schema and the migrations is written by make generate.
package ent

//go:generate make -C .. generate
