"""What every suite shares: rows, timing, memory seen from outside, machine and tables."""
