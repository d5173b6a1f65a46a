"""What every room uses: checks, arrays, records, progress, files that appear whole or not at all."""
