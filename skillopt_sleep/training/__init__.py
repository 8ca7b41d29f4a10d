"""The SkillOpt training core: train a skill document the way one trains a network."""
