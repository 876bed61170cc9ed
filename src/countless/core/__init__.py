"""What everything else stands on: errors, validated parameters, seeding, records on disk."""
