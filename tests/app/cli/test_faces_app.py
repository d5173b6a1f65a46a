"""What ``gramian faces`` says of itself."""


def test_help_says_what_it_is_not_and_what_the_data_are(gramian):
    text = " ".join(gramian("faces --help").out.split())
    for said in (
        "must be cropped and aligned",
        "no liveness check",
        "not a security system",
        "biometric data",
        "Enroll people only with their informed consent",
    ):
        assert said in text
    assert gramian("faces").code == 2
    text = " ".join(gramian("faces identify --help").out.split())
    assert "Exits with 0 when a person was recognised on every picture, otherwise with 1" in text
