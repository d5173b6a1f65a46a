"""The interfaces of other packages: AnnData, xarray, ONNX, and scikit-learn's signatures."""
