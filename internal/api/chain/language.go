package chain

import (
	"context"

	"google.golang.org/grpc/metadata"

	"latchkey.dev/internal/message"
)

// maxLanguages is the most bytes of a header with languages that is read.
const maxLanguages = 256

// Language returns the language in which a call wants the texts of its answer: the first in its header Accept-Language that has texts,
// else the first of more that has texts, else English. The header is part of the metadata of a gRPC call too.
func Language(ctx context.Context, more ...string) string {
	md, _ := metadata.FromIncomingContext(ctx)
	accept := singleValue(md, "accept-language")
	if len(accept) > maxLanguages {
		accept = ""
	}
	if accept == "" && len(more) == 0 {
		return message.English
	}
	if language := message.Match(accept, more...); language != "" {
		return language
	}
	return message.English
}

// Reader returns the reader of the texts of a call's answer that have no times.
func Reader(ctx context.Context) message.Reader { return message.Reader{Language: Language(ctx)} }
