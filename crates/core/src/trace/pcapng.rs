//! pcapng blocks (draft-ietf-opsawg-pcapng): section header, interface description, enhanced packet.
