"""What eigenpairs and samples say: components, rules, sampling, missing values, associations."""
